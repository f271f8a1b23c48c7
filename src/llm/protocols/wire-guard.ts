/** A fetch that bounds what a server may do to us before a client library sees it. */
import { setImmediate } from 'node:timers/promises';
import type { ModelFailure } from '../../core/model.ts';
import type { HttpAnswer, HttpFetch } from '../../lib/http-fetch.ts';
import { isDeep } from '../../lib/json-depth.ts';
import { parseKeepingNumbers } from '../../lib/long-numbers.ts';
import { createFailure, quote } from '../failure.ts';

/** Spec B7: SSE buffer cap. A longer line is a broken or hostile server (F28). */
const LINE_BYTES = 1_000_000;
/** More than any model writes in one answer; bounds memory against an endless stream. */
const BODY_BYTES = 32_000_000;
/** Far more than a whole answer or error has. Parsing megabytes would hold the event loop up for seconds. */
const JSON_CHARS = 4_000_000;
/** Of a body that is read at once; between two pieces the event loop has a turn. */
const PIECE_BYTES = 64_000;
const NEWLINE = 10;

/** What may leave. A client library adds headers from the environment, which are for another provider. */
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
  /** Headers of the client library that may leave, in lower case. Default: those in `SENT_HEADERS`. */
  readonly pass?: readonly string[];
  /** Sent always: keys and versions that the client library would else look for in the environment. */
  readonly set?: Readonly<Record<string, string>>;
  /** Laid over the JSON body of every request. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Headers that depend on the whole request; asked last. */
  readonly sign?: (request: Omit<UnsignedRequest, 'now'>) => ReturnType<Signer>;
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

/**
 * Wraps `fetch` for streaming chat wires: own headers only, no redirects, bounded errors, plain JSON made
 * into events. A good answer is handed on unread, for `readEvents`: the SDKs look at its status and headers.
 */
export function guardFetch(fetchFn: HttpFetch, userAgent: string, options: GuardOptions = {}): typeof fetch {
  const { pass = SENT_HEADERS, set = {}, extraBody, sign } = options;
  let fixed: Readonly<Record<string, string>> | undefined;
  return async (input, init) => {
    const given = init?.headers instanceof Headers ? init.headers : new Headers(init?.headers);
    const headers: Record<string, string> = {};
    for (const name of pass) {
      const value = given.get(name);
      if (value !== null) headers[name] = value;
    }
    fixed ??= Object.fromEntries(new Headers({ 'user-agent': userAgent, ...set }));
    Object.assign(headers, fixed);
    const { method = 'POST', signal } = init ?? {};
    const url = String(input);
    const body = withFields(String(init?.body), extraBody);
    if (sign) Object.assign(headers, await sign({ method, url, headers: new Headers(headers), body }));
    // A redirect would carry the prompt, and on the same host the key, to an address that is not in the
    // config.
    const response = await fetchFn(url, { method, headers, body, signal: signal ?? null });
    const { status, ok, headers: received } = response;
    if (status >= 300 && status < 400) return await refuse(response, `the server redirects (status ${status})`);
    const type = received.get('content-type') ?? '';
    if (ok && /\btext\/html\b/i.test(type)) return await refuse(response, 'the server answered with a web page');
    // A `Response` around it costs a tenth of a message.
    if (ok && !/\bapplication\/json\b/i.test(type)) return response as unknown as Response;
    const text = await readText(response);
    return ok
      ? jsonAsEvents(text, status)
      : new Response(asErrorObject(text), { status: Math.min(status, 599), headers: received });
  };
}

function withFields(body: string, extra: GuardOptions['extraBody']): string {
  const json = extra ? JSON.stringify({ ...(JSON.parse(body) as object), ...extra }) : body;
  // Half of a surrogate pair is escaped so; Anthropic refuses the body, and with it the conversation for
  // good.
  if (!json.includes('\\ud')) return json;
  return json.replace(/\\\\|\\ud[89a-f]../g, (told) => (told === '\\\\' ? told : '\ufffd'));
}

function fault(kind: 'bad-request' | 'malformed', message: string, status?: number): WireFault {
  const hint = kind === 'bad-request' ? 'check that base_url is the address of the API, not of a web site' : undefined;
  return new WireFault(createFailure(kind, { message, status, ...(hint ? { hint } : {}) }));
}

/** Reads none of it. */
async function refuse({ status, body }: HttpAnswer, message: string): Promise<never> {
  await body?.[Symbol.asyncIterator]().return?.();
  throw fault('bad-request', message, status);
}

/** Takes the pieces of a body in order; throws a `WireFault` when a line or the whole grows too long. */
export function createLimit(): (bytes: Uint8Array) => void {
  let line = 0;
  let total = 0;
  return (bytes) => {
    total += bytes.length;
    const last = bytes.lastIndexOf(NEWLINE);
    line = last === -1 ? line + bytes.length : bytes.length - 1 - last;
    if (Math.max(line, bytes.length) > LINE_BYTES || total > BODY_BYTES) {
      throw fault('malformed', `the server sent a line or body past the limit (${total} bytes so far)`);
    }
  };
}

async function readText({ body }: HttpAnswer): Promise<string> {
  const limit = createLimit();
  const pieces: Uint8Array[] = [];
  for await (const bytes of body ?? []) {
    limit(bytes);
    pieces.push(bytes);
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}

/** Client libraries throw away what a server says that is no JSON object, and fail on what is too deep. */
function asErrorObject(body: string): string {
  if (body.length > JSON_CHARS) return JSON.stringify({ error: { message: body.slice(0, JSON_CHARS) } });
  try {
    const parsed: unknown = JSON.parse(body);
    const message = isDeep(parsed) ? body : parsed;
    return typeof message === 'string' ? JSON.stringify({ error: { message } }) : body;
  } catch {
    return body === '' ? body : JSON.stringify({ error: { message: body } });
  }
}

/** A whole answer in place of a stream, or a list of its chunks; an `error` in it is found as in a stream. */
function jsonAsEvents(body: string, status: number): Response {
  // Some proxies name a stream so.
  const events = /^\s*(?:data|event)?:/.test(body) ? body : eventsOf(body, status);
  return new Response(ReadableStream.from(inPieces(Buffer.from(events))) as ReadableStream<Uint8Array<ArrayBuffer>>);
}

function eventsOf(json: string, status: number): string {
  if (json.length > JSON_CHARS)
    throw fault('malformed', `the server answered with JSON past the limit (${json.length} characters)`, status);
  try {
    const answer = parseKeepingNumbers(json);
    return (Array.isArray(answer) ? answer : [answer]).map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
  } catch {
    throw fault('malformed', `the server answered with invalid JSON (${quote(json).length} characters)`, status);
  }
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await setImmediate();
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}
