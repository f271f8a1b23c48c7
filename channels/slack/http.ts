/** HTTP for every request of the adapter: tells "never connected" from "no answer", and closes its connections when told to. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { createHttpAgent, errorCodeOf, notConnected } from '../kit/http-agent.ts';

/** Answers of the Web API are far smaller; a page of 200 messages at their limit is about this. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

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

  /** Resolves with the head of the answer. Of an error that `notSent` is true for, nothing left. */
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

/** Reads a whole answer; rejects when it is absurdly large or breaks off. */
export async function readText(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let total = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    total += part.byteLength;
    if (total > MAX_ANSWER_BYTES) throw new Error('the answer is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** The code of an error after which it is proven that no request left; undefined for any other. */
export function notSent(error: unknown): string | undefined {
  const code = errorCodeOf(error);
  return notConnected(code) ? code : undefined;
}
