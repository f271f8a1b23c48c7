/**
 * One HTTP request over `node:http`, for what is sent with every message: the platform's `fetch` costs twice
 * the CPU (`bench/`, model-calls). Redirects are handed to the caller and never followed.
 */
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestPlain } from 'node:http';
import { Agent as HttpsAgent, request as requestTls } from 'node:https';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

export interface HttpRequest {
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Headers | Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Ends the request, and the body of its answer, with its reason. */
  readonly signal?: AbortSignal | null;
}

/** The part of a `Response` that callers of an API read; a `Response` is one. */
export interface HttpAnswer {
  readonly status: number;
  /** The status is 2xx. */
  readonly ok: boolean;
  readonly headers: Headers;
  /** Unpacked. May be iterated once; leaving early closes the connection. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Rejects when no answer comes: with the error of the connection, or with the signal's reason. */
export type HttpFetch = (url: string, request: HttpRequest) => Promise<HttpAnswer>;

/**
 * An idle connection is dropped after this. Servers drop theirs after 5 s and more (Node's default is 5 s),
 * and a request that meets the closing end is lost.
 */
const IDLE_MS = 4_000;

/** A pool of connections of its own; one that is not set up after `connectMs` ends with ETIMEDOUT. */
export function createHttpFetch(connectMs: number): HttpFetch {
  const plain = new HttpAgent({ keepAlive: true, timeout: IDLE_MS });
  let tls: HttpsAgent | undefined;
  return (url, request) => {
    const isTls = url.startsWith('https:');
    if (isTls) tls ??= new HttpsAgent({ keepAlive: true, timeout: IDLE_MS });
    return sendRequest(url, { ...request, agent: isTls && tls ? tls : plain, connectMs });
  };
}

export interface SentRequest extends Omit<HttpRequest, 'body'> {
  /** A stream is sent in chunks and destroyed with the request. */
  readonly body?: HttpRequest['body'] | Readable;
  /** Of the scheme of the address. */
  readonly agent: HttpAgent;
  /** Absent: the agent has a limit of its own. */
  readonly connectMs?: number;
}

/** As `HttpFetch`, over the connections of an agent. */
export function sendRequest(url: string, options: SentRequest): Promise<HttpAnswer> {
  const { method = 'GET', headers = {}, body, signal, agent, connectMs } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(reasonOf(signal));
    const address = new URL(url);
    // It would be sent with the request, and quoted by whoever logs the address.
    if (address.username !== '' || address.password !== '')
      return reject(new TypeError('an address that holds a password is not called'));
    const isTls = address.protocol === 'https:';
    const given = headers instanceof Headers ? Object.fromEntries(headers) : headers;
    // An event stream that is packed comes in lumps.
    const all = { 'accept-encoding': 'identity', ...given };
    const request = (isTls ? requestTls : requestPlain)(address, { method, headers: all, agent });
    let answer: IncomingMessage | undefined;
    const onAbort = (): void => {
      const reason = reasonOf(signal);
      if (answer) close(answer, reason);
      else request.destroy(reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    request.once('response', (message) => {
      answer = message;
      resolve(answerOf(message));
    });
    request.on('error', (error) => reject(signal?.aborted ? reasonOf(signal) : named(error)));
    request.once('close', () => {
      signal?.removeEventListener('abort', onAbort);
      if (!answer) reject(new Error('the connection was closed without an answer'));
    });
    if (connectMs !== undefined) limitConnecting(request, isTls ? 'secureConnect' : 'connect', connectMs);
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) request.end(body);
    else {
      body.once('error', (error) => request.destroy(error));
      request.once('close', () => body.destroy());
      body.pipe(request);
    }
  });
}

function limitConnecting(request: ClientRequest, connected: 'connect' | 'secureConnect', connectMs: number): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    const tooLate = Object.assign(new Error(`not connected after ${connectMs} ms`), { code: 'ETIMEDOUT' });
    const timer = setTimeout(() => socket.destroy(tooLate), connectMs);
    socket.once(connected, () => clearTimeout(timer));
    socket.once('close', () => clearTimeout(timer));
  });
}

/** A TLS error that meets a pending write has no code of its own: it stands in the words of OpenSSL. */
function named(error: Error & { code?: string }): Error {
  const [, reason] = /:SSL routines:[^:]*:([^:]+):/.exec(error.code === 'EPROTO' ? error.message : '') ?? [];
  if (reason) error.code = `ERR_SSL_${reason.toUpperCase().replaceAll(' ', '_')}`;
  return error;
}

function answerOf(message: IncomingMessage): HttpAnswer {
  const status = message.statusCode ?? 0;
  const headers = new Headers();
  for (let at = 0; at < message.rawHeaders.length; at += 2)
    headers.append(message.rawHeaders[at] ?? '', message.rawHeaders[at + 1] ?? '');
  return { status, ok: status >= 200 && status < 300, headers, body: new Chunks(unpacked(message), () => close(message)) };
}

/** A connection whose answer has arrived whole is kept for the next request. */
function close(message: IncomingMessage, reason?: Error): void {
  if (message.complete) message.resume();
  else message.destroy(reason);
}

/** Signals of client libraries may have none. */
function reasonOf(signal: AbortSignal | null | undefined): Error {
  return (signal?.reason as Error | undefined) ?? new DOMException('the request was aborted', 'AbortError');
}

/** Some servers pack what nobody asked them to pack. */
function unpacked(message: IncomingMessage): Readable {
  const packing = message.headers['content-encoding']?.trim().toLowerCase();
  const unpack = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress }[
    packing ?? ''
  ];
  if (!unpack) return message;
  const body = unpack();
  message.on('error', (error) => body.destroy(error));
  body.once('close', () => close(message));
  return message.pipe(body);
}

/** Half the cost of a stream's own iterator. */
class Chunks implements AsyncIterableIterator<Uint8Array> {
  readonly #stream: Readable;
  readonly #close: () => void;
  #end: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(stream: Readable, close: () => void) {
    this.#stream = stream;
    this.#close = close;
    const ended = (error?: unknown): void => {
      this.#end ??= { error };
      this.#wake?.();
    };
    stream.on('readable', () => this.#wake?.());
    stream.once('end', () => ended());
    stream.on('error', ended);
    stream.once('close', () =>
      ended(stream.readableEnded ? undefined : new Error('the connection broke in the middle of the answer')),
    );
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const value = this.#stream.read() as Uint8Array | null;
      if (value !== null) return { done: false, value };
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Reads no more. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#end ??= { error: undefined };
    this.#close();
    this.#wake?.();
    return { done: true, value: undefined };
  }
}
