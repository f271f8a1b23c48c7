/** A fetch that bounds what a server may do to us before a client library sees it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { text as textOf } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import type { ModelFailure } from '../../core/model.ts';
import type { HttpAnswer, HttpFetch } from '../../lib/http-fetch.ts';
import { isDeep } from '../../lib/json-depth.ts';
import { createFailure, quote } from '../failure.ts';

/** Spec B7: SSE buffer cap. A longer line is a broken or hostile server (F28). */
const LINE_BYTES = 1_000_000;
/** More than any model writes in one answer; bounds memory against an endless stream. */
const BODY_BYTES = 32_000_000;
const NEWLINE = 10;
const RETURN = 13;
const BLANK_LINE = Uint8Array.of(NEWLINE, NEWLINE);

/** Headers of ours that may leave. A client library adds what it finds in the environment, which belongs to another provider. */
const SENT_HEADERS = ['accept', 'authorization', 'content-type'];

/** A request as it is about to leave, without `host`. */
export interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
  /** Epoch ms. */
  readonly now: number;
}

/** The headers that sign a request. Rejects with a `WireFault` that holds no secret. */
export type Signer = (request: UnsignedRequest) => Promise<Readonly<Record<string, string>>>;

export interface GuardOptions {
  /** Headers of the client library that may leave, in lower case. Default: accept, authorization, content-type. */
  readonly pass?: readonly string[];
  /** Sent with every request, whatever the client library says: keys and versions that it would look for in the environment. */
  readonly set?: Readonly<Record<string, string>>;
  /** Laid over the JSON body of every request. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Headers that depend on the whole request; asked last. */
  readonly sign?: (request: Omit<UnsignedRequest, 'now'>) => ReturnType<Signer>;
  /** Take the carriage returns out of line ends, for client libraries that do not know all line ends of the standard. */
  readonly plainLineEnds?: boolean;
  /** A whole answer that came in place of a stream, as the server-sent events that the client library reads. */
  readonly wholeAnswer?: (answer: unknown) => string;
}

/** Called for an answer's bytes: client libraries do not pass on the comments and pings of a stream. */
const signs = new AsyncLocalStorage<() => void>();

/** Runs `open`, which sends one request through `guardFetch`; `onBytes` hears of all that arrives. */
export function withSigns<T>(onBytes: () => void, open: () => T): T {
  return signs.run(onBytes, open);
}

/** A failure found below the client library, carried through it. */
export class WireFault extends Error {
  readonly failure: ModelFailure;

  constructor(failure: ModelFailure) {
    super(failure.message);
    this.name = 'WireFault';
    this.failure = failure;
  }
}

/** Wraps `fetch` for streaming chat wires: own headers only, no redirects, bounded lines and bodies, plain JSON turned into one SSE event. */
export function guardFetch(fetchFn: HttpFetch, userAgent: string, options: GuardOptions = {}): typeof fetch {
  const { pass = SENT_HEADERS, set = {}, extraBody, sign, plainLineEnds = false, wholeAnswer = openAiEvents } = options;
  return async (input, init) => {
    const given = new Headers(init?.headers);
    const headers = new Headers({ 'user-agent': userAgent });
    for (const name of pass) {
      const value = given.get(name);
      if (value !== null) headers.set(name, value);
    }
    for (const [name, value] of Object.entries(set)) headers.set(name, value);
    const { method = 'POST', signal } = init ?? {};
    const url = String(input);
    const body = withFields(String(init?.body), extraBody);
    if (sign) {
      const signature = await sign({ method, url, headers, body });
      for (const [name, value] of Object.entries(signature)) headers.set(name, value);
    }
    // A redirect would carry the prompt, and on the same host the key, to an address that is not in the
    // config.
    const response = await fetchFn(url, { method, headers, body, signal: signal ?? null });
    const { status, ok, headers: received } = response;
    if (status >= 300 && status < 400) return await refuse(response, `the server redirects (status ${status})`);
    const type = received.get('content-type') ?? '';
    if (ok && /\btext\/html\b/i.test(type)) return await refuse(response, 'the server answered with a web page');
    if (ok && !/\bapplication\/json\b/i.test(type)) return boundBody(response, plainLineEnds, signs.getStore());
    const text = response.body ? await textOf(bounded(response.body)) : '';
    return ok
      ? jsonAsEvents(text, status, wholeAnswer)
      : new Response(asErrorObject(text), { status: Math.min(status, 599), headers: received });
  };
}

function withFields(body: string, extra: GuardOptions['extraBody']): string {
  const json = extra ? JSON.stringify({ ...(JSON.parse(body) as object), ...extra }) : body;
  // Half of a surrogate pair is escaped so; Anthropic refuses the body, and with it the conversation for
  // good.
  return json.replace(/\\\\|\\ud[89a-f]../g, (told) => (told === '\\\\' ? told : '\ufffd'));
}

function fault(kind: 'bad-request' | 'malformed', message: string, status?: number): WireFault {
  const hint = kind === 'bad-request' ? 'check that base_url is the address of the API, not of a web site' : undefined;
  return new WireFault(createFailure(kind, { message, status, ...(hint ? { hint } : {}) }));
}

/** What client libraries read of a stream: a `Response` around it costs a tenth of a message. */
function boundBody(answer: HttpAnswer, plainLineEnds: boolean, onBytes: (() => void) | undefined): Response {
  const { status, ok, headers } = answer;
  const body = answer.body && bounded(answer.body, { events: true, plainLineEnds, onBytes });
  return { status, ok, headers, url: '', body } as unknown as Response;
}

/** Reads none of it. */
async function refuse({ status, body }: HttpAnswer, message: string): Promise<never> {
  await body?.[Symbol.asyncIterator]().return?.();
  throw fault('bad-request', message, status);
}

/**
 * The bytes within the limits. `events`: a properly ended body gets the blank line that it may lack, since client libraries drop a last
 * event without one (F28). `plainLineEnds`: no carriage return; none of the data is lost, because JSON writes it as an escape.
 */
async function* bounded(
  body: AsyncIterable<Uint8Array>,
  { events, plainLineEnds, onBytes }: { events?: boolean; plainLineEnds?: boolean; onBytes?: (() => void) | undefined } = {},
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let next: ReturnType<typeof read> | undefined;
  let line = 0;
  let total = 0;
  let ended = false;
  let blank = true;
  const read = async () => {
    const chunk = await chunks.next();
    ended = chunk.done === true;
    return chunk;
  };
  try {
    next = read();
    for (;;) {
      const { done, value: bytes } = await next;
      if (done) {
        if (events && !blank) yield BLANK_LINE;
        return;
      }
      onBytes?.();
      total += bytes.length;
      const last = bytes.lastIndexOf(NEWLINE);
      line = last === -1 ? line + bytes.length : bytes.length - 1 - last;
      const longest = last === -1 ? line : Math.max(line, bytes.length);
      if (longest > LINE_BYTES || total > BODY_BYTES) {
        throw fault('malformed', `the server sent a line or body past the limit (${total} bytes so far)`);
      }
      // One chunk ahead, so that it knows the end before the client library leaves what it takes for unfinished.
      next = read();
      next.catch(() => undefined);
      blank = last > 0 && last === bytes.length - 1 && bytes[last - 1] === NEWLINE;
      yield plainLineEnds && bytes.includes(RETURN) ? bytes.filter((byte) => byte !== RETURN) : bytes;
    }
  } finally {
    // The client library leaves at the last event, and the end often lies one turn of the loop behind it. A
    // body that is cancelled costs the connection.
    if (!ended) await Promise.race([next, setImmediate()]).catch(() => undefined);
    if (!ended) await chunks.return?.();
  }
}

/** Client libraries throw away what a server says that is no JSON object, and fail on one that is too deep. */
function asErrorObject(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    const message = isDeep(parsed) ? body : parsed;
    return typeof message === 'string' ? JSON.stringify({ error: { message } }) : body;
  } catch {
    return body === '' ? body : JSON.stringify({ error: { message: body } });
  }
}

/** A whole completion in place of a stream; an `error` object inside it is then found like one in a stream. */
function jsonAsEvents(body: string, status: number, wholeAnswer: (answer: unknown) => string): Response {
  try {
    return new Response(wholeAnswer(JSON.parse(body)), { headers: { 'content-type': 'text/event-stream' } });
  } catch {
    // Some proxies name a stream so.
    if (/^\s*(?:data|event)?:/.test(body)) return new Response(body);
    throw fault('malformed', `the server answered with invalid JSON (${quote(body).length} characters)`, status);
  }
}

function openAiEvents(answer: unknown): string {
  return `data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`;
}
