/** HTTP for every request of the adapter: tells "never connected" from "no answer", and closes its connections when told to. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { createHttpAgent } from '../kit/http-agent.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly signal: AbortSignal;
}

/** Keeps connections for the next request. Redirects are answers like others: nothing is followed. */
export class HttpTransport {
  readonly #plain = createHttpAgent({ tls: false });
  readonly #tls = createHttpAgent({ tls: true });

  /**
   * Resolves with the head of the answer. Of an error whose code `notConnected` is true for, nothing left.
   */
  request({ method, url, headers, body, signal }: HttpRequest): Promise<IncomingMessage> {
    const tls = url.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const options = { method, signal, agent: tls ? this.#tls : this.#plain, ...(headers && { headers }) };
      const request = (tls ? httpsRequest : httpRequest)(url, options, resolve);
      request.on('error', reject);
      if (typeof body !== 'object') return void request.end(body);
      // A file that cannot be read to its end must break the request, or the platform would take the first part for all of it.
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
