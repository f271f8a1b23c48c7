/** The WeCom API for one company with one application, with the faults it can have. Never shipped. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PLATFORM_LIMITS } from '../../../channels/wecom/platform-limits.ts';
import { createLocalServer } from '../local-server.ts';
import { parseMultipart } from '../multipart.ts';

/** What a member sees of one message. */
export interface WecomSend {
  readonly touser: string;
  readonly msgtype: string;
  /** Without what is invisible at its end, which nobody sees. Of a card its text; empty for a file. */
  readonly text: string;
  readonly file?: { readonly name: string; readonly bytes: Buffer; readonly type: string };
  readonly card?: Readonly<Record<string, unknown>>;
  /** Epoch ms. */
  readonly at: number;
  /** The request as it came. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** Befalls the next call of `method` (`message/send`), once. */
export type WecomFault = { readonly method: string } & (
  | { readonly kind: 'errcode'; readonly errcode: number; readonly errmsg?: string }
  | { readonly kind: 'status'; readonly status: number }
  /** Done, and the connection is cut instead of an answer. */
  | { readonly kind: 'drop' }
  /** Done, and the answer comes later. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Done, and never answered. */
  | { readonly kind: 'hang' }
  /** Done, and the answer is this. */
  | { readonly kind: 'body'; readonly body: string }
  | { readonly kind: 'redirect'; readonly location: string }
);

export interface WecomServer extends AsyncDisposable {
  readonly url: string;
  readonly corpId: string;
  readonly agentId: number;
  readonly secret: string;
  /** The only members there are. */
  readonly members: Set<string>;
  /** What members saw, oldest first. */
  readonly sends: readonly WecomSend[];
  /** Paths below /cgi-bin/ in the order of calls. */
  readonly calls: readonly string[];
  /** Faults that have not befallen anything yet. */
  readonly faults: readonly WecomFault[];
  fault(fault: WecomFault): void;
  clearFaults(): void;
  addMedia(id: string, file: { name: string; bytes: Buffer; mime?: string; stateLength?: boolean }): void;
  /** Every token given so far is refused with 42001 from now on. */
  expireTokens(): void;
  /** Every upload so far is unknown from now on. */
  forgetUploads(): void;
  connections(): Promise<number>;
  /** Breaks every connection there is. */
  disconnect(): void;
  close(): Promise<void>;
}

interface StoredFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly mime: string;
  readonly type: string;
  readonly stateLength: boolean;
}

type Json = Record<string, unknown>;

const MEDIA_BYTES: Readonly<Record<string, number>> = { image: 10, voice: 2, video: 10, file: 20 };

const CORP_ID = 'wwtestcompany';
const AGENT_ID = 1_000_002;
const SECRET = 'agent-secret-of-the-test';

const ok = (more: Json = {}): Json => ({ errcode: 0, errmsg: 'ok', ...more });
const no = (errcode: number, errmsg: string): Json => ({ errcode, errmsg: `${errmsg}, hint: [1], from ip: 127.0.0.1` });

/** The company behind the API: its members, what they saw, and what befalls calls. */
class Company {
  readonly members = new Set(['ada', 'bob']);
  readonly sends: WecomSend[] = [];
  readonly calls: string[] = [];
  readonly faults: WecomFault[] = [];
  readonly files = new Map<string, StoredFile>();
  readonly checked = new Map<string, string>();
  readonly tasks = new Set<string>();
  generation = 1;
  ids = 0;

  send(message: Json): Json {
    const { touser, agentid, msgtype, enable_duplicate_check: check } = message;
    if (agentid !== AGENT_ID) return no(301_002, 'not allow operate another agent with this accesstoken');
    if (typeof touser !== 'string' || !this.members.has(touser)) return no(81_013, 'user & party & tag all invalid');
    const content = message[String(msgtype)];
    if (typeof content !== 'object' || content === null) return no(40_008, 'invalid message type');
    const { content: text, media_id, task_id, main_title, sub_title_text } = content as Json;
    if (msgtype === 'template_card') {
      const { title } = (main_title ?? {}) as Json;
      if (typeof title !== 'string' || title === '') return no(41_016, 'missing title');
      if (this.tasks.has(String(task_id))) return no(42_014, 'invalid task_id');
    }
    // The documentation says "the same content (request json)": the parameters of the check itself are
    // no content. Whether blanks at the ends count it does not say: here they do not, which is the
    // harder of the two.
    const compared = typeof text === 'string' ? { content: text.trim() } : content;
    const identity = JSON.stringify({ touser, agentid, msgtype, content: compared });
    const before = this.checked.get(identity);
    if (check === 1 && before !== undefined) return ok({ msgid: before });
    const shown = { touser, msgtype: String(msgtype), raw: message, at: Date.now() };
    if (msgtype === 'text' || msgtype === 'markdown') {
      if (typeof text !== 'string' || text === '') return no(44_004, 'empty content');
      this.sends.push({
        ...shown,
        text: Buffer.from(text)
          .subarray(0, PLATFORM_LIMITS.text.value)
          .toString()
          .replace(/[\s\u200b]+$/, ''),
      });
    } else if (msgtype === 'template_card') {
      this.tasks.add(String(task_id));
      const { title } = main_title as Json;
      this.sends.push({ ...shown, text: [title, sub_title_text].filter(Boolean).join('\n'), card: content as Json });
    } else {
      const file = this.files.get(String(media_id));
      if (!file || file.type !== msgtype) return no(40_007, 'invalid media_id');
      this.sends.push({ ...shown, text: '', file });
    }
    this.ids += 1;
    this.checked.set(identity, `msg-${this.ids}`);
    return ok({ msgid: `msg-${this.ids}` });
  }

  upload(type: string, body: Buffer, contentType: string): Json {
    const part = parseMultipart(body, contentType).find(({ name }) => name === 'media');
    const limit = MEDIA_BYTES[type];
    if (!part || limit === undefined) return no(40_005, 'invalid type');
    if (part.bytes.length <= 5 || part.bytes.length > limit * 1024 * 1024) return no(40_006, 'invalid file size');
    this.ids += 1;
    const id = `media-${this.ids}`;
    this.files.set(id, {
      name: part.filename ?? '',
      bytes: part.bytes,
      mime: 'application/octet-stream',
      type,
      stateLength: true,
    });
    return ok({ type, media_id: id, created_at: '1380000000' });
  }

  answer(method: string, query: URLSearchParams, body: Buffer, contentType: string): Json | StoredFile {
    if (method === 'gettoken') {
      if (query.get('corpid') !== CORP_ID) return no(40_013, 'invalid corpid');
      if (query.get('corpsecret') !== SECRET) return no(40_001, `invalid credential ${query.get('corpsecret')}`);
      return ok({ access_token: `token-${this.generation}`, expires_in: 7_200 });
    }
    const token = query.get('access_token');
    if (token !== `token-${this.generation}`) {
      return /^token-\d+$/.test(token ?? '') ? no(42_001, 'access_token expired') : no(40_014, 'invalid access_token');
    }
    if (method === 'agent/get') return ok({ agentid: AGENT_ID, name: 'Gatehouse' });
    if (method === 'message/send') return this.send(JSON.parse(body.toString()) as Json);
    if (method === 'media/upload') return this.upload(query.get('type') ?? '', body, contentType);
    if (method === 'media/get') return this.files.get(query.get('media_id') ?? '') ?? no(40_007, 'invalid media_id');
    return no(404, 'no such call');
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const method = url.pathname.replace(/^\/cgi-bin\//, '');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.calls.push(method);
    const index = this.faults.findIndex((fault) => fault.method === method);
    const [fault] = index === -1 ? [] : this.faults.splice(index, 1);
    if (fault?.kind === 'errcode') return json(response, no(fault.errcode, fault.errmsg ?? 'scripted'));
    if (fault?.kind === 'status') return void response.writeHead(fault.status).end('a page of a proxy');
    if (fault?.kind === 'redirect') return void response.writeHead(302, { location: fault.location }).end();
    const result = this.answer(method, url.searchParams, Buffer.concat(chunks), request.headers['content-type'] ?? '');
    if (fault?.kind === 'drop') return void request.socket.destroy();
    if (fault?.kind === 'body') return void response.end(fault.body);
    if (fault?.kind === 'slow') await sleep(fault.ms);
    if (fault?.kind === 'hang') return;
    if (!('bytes' in result)) return json(response, result as Json);
    const file = result as StoredFile;
    response.writeHead(200, {
      'content-type': file.mime,
      'content-disposition': `attachment; filename="${encodeURIComponent(file.name)}"`,
      ...(file.stateLength && { 'content-length': file.bytes.length }),
    });
    response.end(file.bytes);
  }
}

export async function startWecomServer(): Promise<WecomServer> {
  const company = new Company();
  const { members, sends, calls, faults, files } = company;
  const server = createLocalServer((request, response) => {
    company.serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    corpId: CORP_ID,
    agentId: AGENT_ID,
    secret: SECRET,
    members,
    sends,
    calls,
    faults,
    fault: (fault) => void faults.push(fault),
    clearFaults: () => void faults.splice(0),
    addMedia: (id, { name, bytes, mime = 'application/octet-stream', stateLength = true }) =>
      void files.set(id, { name, bytes, mime, type: 'file', stateLength }),
    expireTokens() {
      company.generation += 1;
    },
    forgetUploads: () => files.clear(),
    connections: () =>
      new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count)))),
    disconnect: () => server.closeAllConnections(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function json(response: ServerResponse, value: Json): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' }).end(JSON.stringify(value));
}
