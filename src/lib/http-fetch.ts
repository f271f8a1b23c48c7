/**
 * One HTTP request by the dispatcher below the platform's `fetch`, for what is sent with every message:
 * `fetch` itself costs twice the CPU (`bench/`, model-calls). Redirects are handed to the caller and never
 * followed.
 */
import { GatheredChunks } from './gathered-chunks.ts';

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
  /** May be iterated once; leaving early closes the connection. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Rejects when no answer comes: with the error of the connection, or with the signal's reason. */
export type HttpFetch = (url: string, request: HttpRequest) => Promise<HttpAnswer>;

/**
 * Node publishes its dispatcher under this symbol (undici, lib/global.js). Another one of the same class goes
 * through the same proxies (`NODE_USE_ENV_PROXY`), with limits of its own.
 */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/** The part of undici's `Dispatcher` that is used here (undici, docs/api/Dispatcher.md). */
interface Dispatcher {
  dispatch(request: object, handler: Handler): boolean;
}

interface Controller {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

interface Handler {
  onRequestStart(controller: Controller): void;
  onResponseStart(controller: Controller, status: number, headers: Readonly<Record<string, string | readonly string[]>>): void;
  onResponseData(controller: Controller, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(controller: Controller, error: Error): void;
}

/**
 * A pool of connections of its own; one that is not set up after `connectMs` ends with
 * UND_ERR_CONNECT_TIMEOUT. For the answer there is no limit: callers have their own.
 */
export function createHttpFetch(connectMs: number): HttpFetch {
  let dispatcher: Dispatcher | undefined;
  return (url, request) => {
    dispatcher ??= createDispatcher(connectMs);
    return send(dispatcher, url, request);
  };
}

function createDispatcher(connectMs: number): Dispatcher {
  // Node loads undici, and with it the dispatcher, when the first of its classes is used.
  void new Headers();
  const { constructor: Agent } = Reflect.get(globalThis, GLOBAL_DISPATCHER) as {
    constructor: new (options: object) => Dispatcher;
  };
  return new Agent({ connect: { timeout: connectMs }, headersTimeout: 0, bodyTimeout: 0 });
}

function send(dispatcher: Dispatcher, url: string, request: HttpRequest): Promise<HttpAnswer> {
  const { method = 'GET', headers: given = {}, body, signal } = request;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const { origin, pathname, search, username, password } = new URL(url);
    // It would be left out without a word.
    if (username !== '' || password !== '') throw new TypeError('an address that holds a password is not called');
    // An event stream that is packed comes in lumps, and a packed answer may be a thousand times its size.
    const headers = { 'accept-encoding': 'identity', ...(given instanceof Headers ? Object.fromEntries(given) : given) };
    const answer = new Answer(resolve, reject, signal);
    dispatcher.dispatch({ origin, path: pathname + search, method, headers, body }, answer);
  });
}

/** Follows one request from its start to the end of its answer. */
class Answer implements Handler {
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #signal: AbortSignal | null | undefined;
  #controller: Controller | undefined;
  #body: GatheredChunks | undefined;
  /** Set where the server packs what it was asked not to pack, which is not read. */
  #packed: { readonly error: Error | undefined } | undefined;

  constructor(resolve: (answer: HttpAnswer) => void, reject: (reason: unknown) => void, signal: HttpRequest['signal']) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Not before the connection is there, which an abort need not wait for. */
  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#signal?.aborted) this.#abort();
  }

  onResponseStart(controller: Controller, status: number, received: Readonly<Record<string, string | readonly string[]>>): void {
    // An answer that is still to come is announced by these.
    if (status < 200) return;
    const headers = new Headers();
    for (const [name, values] of Object.entries(received))
      for (const value of typeof values === 'string' ? [values] : values) headers.append(name, value);
    // Not made beforehand: the stack of an error costs more than all else that is done here.
    this.#body = new GatheredChunks(controller, () => controller.abort(new Error('the rest of the answer is not wanted')));
    const ok = status >= 200 && status < 300;
    const packing = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
    // The status of a failure says enough without the words beside it.
    if (packing !== '' && packing !== 'identity') this.#packed = { error: ok ? packedError(packing) : undefined };
    this.#resolve({ status, ok, headers, body: this.#body });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#packed) {
      this.#body?.end(this.#packed.error);
      controller.abort(packedError());
    } else this.#body?.push(chunk);
  }

  onResponseEnd(): void {
    this.#settled();
    this.#body?.end();
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#settled();
    this.#reject(error);
    this.#body?.end(error);
  }

  readonly #abort = (): void => {
    const { reason } = this.#signal ?? {};
    const error = reason instanceof Error ? reason : new DOMException('the request was aborted', 'AbortError');
    this.#reject(reason);
    this.#body?.end(error);
    this.#controller?.abort(error);
  };

  #settled(): void {
    this.#signal?.removeEventListener('abort', this.#abort);
  }
}

function packedError(packing = 'unasked'): Error {
  return Object.assign(new Error('the server packs its answer, which it was asked not to do'), { code: `packed: ${packing}` });
}
