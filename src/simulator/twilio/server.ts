/**
 * A small Twilio: messages with state, a paged list, webhooks signed by the official SDK, files behind a
 * redirect to a store on another origin, status callbacks, scripted faults. What it accepted is what a test
 * may call "sent".
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalServer } from '../local-server.ts';
import { type TwilioFault, TwilioRestApi } from './rest-api.ts';
import { postWebhook, type WebhookTarget } from './webhooks.ts';
import { answer, newSid, type TwilioMessage } from './wire.ts';

export interface TwilioFile {
  readonly bytes: Buffer;
  readonly mime: string;
  /** Said in the header instead of the truth. */
  readonly statedSize?: number;
}

export interface InjectOptions {
  /** Epoch ms; default now. */
  readonly at?: number;
  /** The webhook does not come through: only the list has the message. */
  readonly silent?: boolean;
  readonly files?: readonly TwilioFile[];
  /** Laid over the webhook's fields. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly status?: string;
  readonly to?: string;
}

export class TwilioServer implements AsyncDisposable {
  readonly accountSid = `AC${'0123456789abcdef'.repeat(2)}`;
  readonly authToken: string;
  readonly number = '+15005550006';
  /** Newest last; both directions. */
  readonly messages: TwilioMessage[] = [];
  /** Every request to the API: method and path with query. */
  readonly calls: string[] = [];
  /** Form fields of accepted sends. */
  readonly forms: URLSearchParams[] = [];
  /** SID -> status of each webhook that was posted for it. */
  readonly webhooks = new Map<string, number[]>();
  /** Authorization headers the store saw: must stay empty. */
  readonly storeAuthorizations: string[] = [];
  readonly blocked = new Set<string>();
  /** Where files are redirected to; default the store. */
  redirectTo: ((mediaSid: string) => string) | undefined;
  pageSize = 100;
  /** Added to the time that answers state. */
  skewMs = 0;
  /** A message is in the list this long after it was made: the list is consistent in the end only. */
  listLagMs = 0;
  /** Told of each accepted send, before it is answered. */
  onSent: ((sid: string) => void) | undefined;
  /** Set to where the channel listens. Webhooks are posted one after the other. */
  target: WebhookTarget | undefined;
  readonly #files = new Map<string, TwilioFile>();
  #faults: (TwilioFault & { left: number })[] = [];
  #posting: Promise<unknown> = Promise.resolve();
  readonly #api: Server = createLocalServer((request, response) => this.#restApi.serve(request, response));
  readonly #store: Server = createLocalServer((request, response) => this.#serveStore(request, response));
  readonly #closing = new AbortController();
  readonly #restApi = new TwilioRestApi(this, { takeFault: (call) => this.#takeFault(call), signal: this.#closing.signal });
  /** Aborted by `forget`. */
  #posts = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(authToken = 'f0e1d2c3b4a5968778695a4b3c2d1e0f') {
    this.authToken = authToken;
  }

  async listen(): Promise<this> {
    for (const server of [this.#api, this.#store]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    }
    return this;
  }

  /** What goes into `api_root`. */
  get url(): string {
    return originOf(this.#api);
  }

  get storeUrl(): string {
    return originOf(this.#store);
  }

  get sends(): readonly TwilioMessage[] {
    return this.messages.filter(({ direction }) => direction === 'outbound-api');
  }

  /** Open connections to the API and the store, idle ones too. */
  async connections(): Promise<number> {
    const counts = [this.#api, this.#store].map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
        }),
    );
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** Messages whose webhook was not answered with success. */
  get unanswered(): number {
    return this.messages.filter(({ sid, direction }) => {
      return direction === 'inbound' && !this.webhooks.get(sid)?.some((status) => status >= 200 && status < 300);
    }).length;
  }

  /** A person writes. Returns the SID at once; the webhook is posted in the background. */
  inject(from: string, body: string, options: InjectOptions = {}): string {
    const { files = [], at = Date.now(), to = this.number, status = 'received' } = options;
    const sid = newSid(files.length > 0 ? 'MM' : 'SM');
    const media = files.map((file) => {
      const mediaSid = newSid('ME');
      this.#files.set(mediaSid, file);
      return { sid: mediaSid, mime: file.mime };
    });
    this.messages.push({
      sid,
      accountSid: this.accountSid,
      from,
      to,
      body,
      direction: 'inbound',
      status,
      at,
      media,
      ...(options.silent && { unsent: true }),
    });
    if (options.silent !== true) void this.redeliver(sid, options.fields);
    return sid;
  }

  /** Posts the webhook of a message, first or again. Resolves to the status of the answer, 0 without one. */
  redeliver(sid: string, fields: Readonly<Record<string, string>> = {}): Promise<number> {
    const message = this.messages.find((one) => one.sid === sid);
    if (!message) throw new Error(`no message ${sid}`);
    const post: Record<string, string> = {
      ToCountry: 'US',
      SmsMessageSid: sid,
      NumMedia: String(message.media.length),
      SmsSid: sid,
      SmsStatus: 'received',
      Body: message.body,
      To: message.to,
      NumSegments: '1',
      MessageSid: sid,
      AccountSid: this.accountSid,
      From: message.from,
      ApiVersion: '2010-04-01',
    };
    message.media.forEach((media, index) => {
      post[`MediaContentType${index}`] = media.mime;
      post[`MediaUrl${index}`] = `${this.url}/2010-04-01/Accounts/${this.accountSid}/Messages/${sid}/Media/${media.sid}`;
    });
    const { signal } = this.#posts;
    const posted = this.#posting.then(async () => {
      if (signal.aborted) return 0;
      const status = await this.post({ ...post, ...fields });
      this.webhooks.set(sid, [...(this.webhooks.get(sid) ?? []), status]);
      return status;
    });
    this.#posting = posted;
    return posted;
  }

  /** A status callback for a message of ours, to the address it was sent with. */
  async callback(sid: string, status: string, errorCode?: number): Promise<number> {
    const message = this.messages.find((one) => one.sid === sid);
    if (!message) throw new Error(`no message ${sid}`);
    message.status = status;
    if (message.statusCallback === undefined) return 0;
    const fields = { MessageSid: sid, SmsSid: sid, MessageStatus: status, SmsStatus: status, AccountSid: this.accountSid };
    const code = errorCode === undefined ? {} : { ErrorCode: String(errorCode) };
    return this.post({ ...fields, ...code, To: message.to, From: message.from }, message.statusCallback);
  }

  /** Any signed form, to the webhook or to `url`. 0 when no answer came. */
  async post(fields: Readonly<Record<string, string>>, url?: string): Promise<number> {
    const { target } = this;
    if (!target) return 0;
    return (
      await postWebhook(target, {
        fields,
        authToken: this.authToken,
        signal: AbortSignal.any([this.#closing.signal, this.#posts.signal]),
        ...(url !== undefined && { url }),
      })
    ).status;
  }

  fault(fault: TwilioFault): void {
    this.#faults.push({ ...fault, left: fault.times ?? 1 });
  }

  /** Faults that have not befallen anything yet. */
  get faults(): readonly TwilioFault[] {
    return this.#faults;
  }

  /** Breaks every connection of the API, and what is being posted. */
  disconnect(): void {
    this.#api.closeAllConnections();
    this.#posts.abort(new Error('the connection broke'));
    this.#posts = new AbortController();
  }

  /** The account is as new: no message, no fault, and nothing on its way. */
  forget(): void {
    this.disconnect();
    this.#faults = [];
    this.messages.length = 0;
    this.forms.length = 0;
    this.calls.length = 0;
    this.webhooks.clear();
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      this.#closing.abort(new Error('the platform is gone'));
      await this.#posting;
      for (const server of [this.#api, this.#store]) {
        await new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        });
      }
    })();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #serveStore(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers.authorization !== undefined) this.storeAuthorizations.push(request.headers.authorization);
    const fault = this.#takeFault('store');
    if (fault?.kind === 'error') {
      answer(response, fault.status ?? 500, 'broken');
      return;
    }
    const file = this.#files.get(new URL(request.url ?? '/', this.storeUrl).pathname.slice(1));
    if (!file) {
      answer(response, 404, 'gone');
      return;
    }
    // Without a length the body is chunked: a reader that counts is the only guard.
    const length = file.statedSize === undefined ? { 'content-length': file.bytes.length } : {};
    response.writeHead(200, { 'content-type': file.mime, ...length });
    response.write(file.bytes.subarray(0, 8));
    if (fault) response.destroy();
    else response.end(file.bytes.subarray(8));
  }

  #takeFault(call: TwilioFault['call']): TwilioFault | undefined {
    const fault = this.#faults.find((entry) => entry.left > 0 && entry.call === call);
    if (!fault) return undefined;
    fault.left -= 1;
    this.#faults = this.#faults.filter(({ left }) => left > 0);
    return fault;
  }
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Listens on free ports of 127.0.0.1. */
export function startTwilioServer(authToken?: string): Promise<TwilioServer> {
  return new TwilioServer(authToken).listen();
}
