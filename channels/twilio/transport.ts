/** The HTTP client that is injected into the SDK: its own address, no redirects, no retries, and word of what reached the platform. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { CallError, networkFailure } from '../kit/call-error.ts';
import { whenConnected } from '../kit/http-agent.ts';
import { readText } from '../kit/read-text.ts';

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
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #exchanges = new AsyncLocalStorage<Exchange>();

  /** `root` has no trailing slash; whatever host the SDK names, requests go there. */
  constructor(root: string) {
    this.#root = new URL(root);
    // A connection for each request: one written to a connection that the other side just closed is a request nobody knows the
    // fate of, and at a message a second the handshake costs nothing.
    const options = { keepAlive: false };
    this.#agent = this.#root.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
  }

  /** Runs one call of the SDK; `headers` of the last answer come back with its result or through `onHeaders` when it throws. */
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
    const response = await this.#exchange(target, { method: options.method.toUpperCase(), headers, body }, exchange.signal);
    exchange.headers = response.headers;
    return response;
  }

  /** Breaks what is under way. Twice is safe. */
  close(): void {
    this.#agent.destroy();
  }

  #target(options: TransportRequest): URL {
    const asked = new URL(options.uri);
    const prefix = this.#root.pathname.replace(/\/+$/, '');
    const target = new URL(`${this.#root.origin}${prefix}${asked.pathname}${asked.search}`);
    for (const [name, value] of toForm(options.params ?? {})) target.searchParams.append(name, value);
    return target;
  }

  #exchange(
    target: URL,
    { method, headers, body }: { method: string; headers: Record<string, string>; body: string | undefined },
    signal: AbortSignal,
  ): Promise<TransportResponse> {
    const tls = target.protocol === 'https:';
    return new Promise((resolve, reject) => {
      let connected = false;
      const request = (tls ? requestHttps : requestHttp)(target, { method, headers, agent: this.#agent, signal });
      const fail = (error: unknown): void => reject(new CallError(undefined, networkFailure(error, connected)));
      whenConnected(request, tls, () => {
        connected = true;
      });
      request.on('error', fail);
      request.on('response', (response) => {
        readText(response, MAX_ANSWER_BYTES).then(
          (text) => resolve({ statusCode: response.statusCode ?? 0, body: text, headers: response.headers }),
          fail,
        );
      });
      request.end(body);
    });
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
