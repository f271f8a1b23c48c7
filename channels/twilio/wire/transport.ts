/** The SDK's HTTP client: its own address, no redirects or retries, and word of what reached the platform. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { CallError, networkFailure } from '../../kit/call-error.ts';
import { type HttpRequest, HttpTransport } from '../../kit/http-transport.ts';
import { readText } from '../../kit/read-text.ts';

/** What one call of the SDK needs and leaves behind; the SDK passes neither a signal down nor headers up. */
interface Exchange {
  readonly signal: AbortSignal;
  headers: IncomingMessage['headers'];
}

/** The part of the SDK's request options that is used. */
export interface TransportRequest {
  readonly method: string;
  readonly uri: string;
  readonly username?: string;
  readonly password?: string;
  readonly headers?: object;
  readonly params?: object;
  readonly data?: object;
}

export interface TransportResponse {
  readonly statusCode: number;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

/** A page of 100 messages is about 150 kB. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

export class Transport {
  readonly #root: URL;
  // A connection for each request: one written to a connection that the other side just closed is a request
  // no one can tell the fate of, and at a message a second the handshake costs nothing.
  readonly #http = new HttpTransport({ keepAlive: false });
  readonly #exchanges = new AsyncLocalStorage<Exchange>();

  /** `root` has no trailing slash; whatever host the SDK names, requests go there. */
  constructor(root: string) {
    this.#root = new URL(root);
  }

  /** Runs one call of the SDK. `onHeaders` gets the headers of its last answer, also when it throws. */
  async run<T>(
    signal: AbortSignal,
    call: () => Promise<T>,
    onHeaders?: (headers: IncomingMessage['headers']) => void,
  ): Promise<T> {
    const exchange: Exchange = { signal, headers: {} };
    try {
      return await this.#exchanges.run(exchange, call);
    } finally {
      onHeaders?.(exchange.headers);
    }
  }

  /** Called by the SDK. */
  async request(options: TransportRequest): Promise<TransportResponse> {
    const exchange = this.#exchanges.getStore();
    if (!exchange) throw new CallError(undefined, { kind: 'unreached', detail: 'a request outside of a call' });
    const target = this.#target(options);
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value);
    if (options.username !== undefined && options.password !== undefined) {
      headers['Authorization'] = `Basic ${Buffer.from(`${options.username}:${options.password}`).toString('base64')}`;
    }
    const body = options.data ? toForm(options.data).toString() : undefined;
    if (body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(body));
    const method = options.method.toUpperCase();
    const response = await this.#exchange({ method, url: target, headers, body, signal: exchange.signal });
    exchange.headers = response.headers;
    return response;
  }

  /** Breaks what is under way. Twice is safe. */
  close(): void {
    this.#http.close();
  }

  #target(options: TransportRequest): URL {
    const asked = new URL(options.uri);
    const prefix = this.#root.pathname.replace(/\/+$/, '');
    const target = new URL(`${this.#root.origin}${prefix}${asked.pathname}${asked.search}`);
    for (const [name, value] of toForm(options.params ?? {})) target.searchParams.append(name, value);
    return target;
  }

  async #exchange(request: HttpRequest): Promise<TransportResponse> {
    let left = false;
    try {
      const onConnected = (): void => {
        left = true;
      };
      const response = await this.#http.request({ ...request, onConnected });
      const body = await readText(response, MAX_ANSWER_BYTES);
      return { statusCode: response.statusCode ?? 0, body, headers: response.headers };
    } catch (error) {
      throw new CallError(undefined, networkFailure(error, left));
    }
  }
}

function toForm(data: object): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(data)) {
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== undefined && item !== null) form.append(name, String(item));
  }
  return form;
}
