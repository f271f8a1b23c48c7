import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { createHttpAgent, whenConnected } from './http-agent.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called once the connection stands, before the first byte of the request: what fails earlier never left.
   */
  readonly onConnected?: () => void;
}

/**
 * Requests of one account, for SDKs that hide whether a request had left. Redirects are answers like others:
 * nothing is followed, and nothing is asked twice.
 */
export class HttpTransport {
  readonly #plain: ReturnType<typeof createHttpAgent>;
  readonly #tls: ReturnType<typeof createHttpAgent>;

  /** Connections are kept for the next request, unless `keepAlive` is false. */
  constructor({ keepAlive = true }: { readonly keepAlive?: boolean } = {}) {
    this.#plain = createHttpAgent({ tls: false, keepAlive });
    this.#tls = createHttpAgent({ tls: true, keepAlive });
  }

  /**
   * Resolves with the head of the answer. Of an error whose code `notConnected` is true for, nothing left.
   */
  request({ method, url, headers, body, signal, onConnected }: HttpRequest): Promise<IncomingMessage> {
    const tls = url.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const agent = tls ? this.#tls : this.#plain;
      const options = { method, agent, ...(headers && { headers }), ...(signal && { signal }) };
      const request = (tls ? httpsRequest : httpRequest)(url, options, resolve);
      request.on('error', reject);
      if (onConnected) whenConnected(request, tls, onConnected);
      if (!(body instanceof Readable)) return void request.end(body);
      // A file that cannot be read to its end must break the request, or the platform would take the first
      // part for all of it.
      body.on('error', (error) => request.destroy(error));
      request.on('close', () => body.destroy());
      body.pipe(request);
    });
  }

  /** Closes idle connections and breaks those in use. Twice is safe. */
  close(): void {
    this.#plain.destroy();
    this.#tls.destroy();
  }
}
