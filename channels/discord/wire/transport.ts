/** HTTP for the SDK's REST client over `node:http`: it must be known whether a failed request had left. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { HttpTransport } from '../../kit/http-transport.ts';

export class HttpPool {
  readonly #http = new HttpTransport();

  /** `onLeft` is called once the connection stands, before the request's first byte. Follows no redirect. */
  async fetch(url: string, init: RequestInit, onLeft: () => void): Promise<Response> {
    const headers = new Headers(init.headers);
    const body = await encodeBody(init.body ?? undefined, headers);
    if (body) headers.set('content-length', String(body.length));
    const answer = await this.#http.request({
      method: init.method ?? 'GET',
      url: new URL(url),
      headers: Object.fromEntries(headers),
      body,
      signal: init.signal ?? undefined,
      onConnected: onLeft,
    });
    const status = answer.statusCode ?? 502;
    const empty = status === 204 || status === 304;
    if (empty) answer.resume();
    return new Response(empty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>), {
      status: status < 200 ? 502 : status,
      headers: headersOf(answer),
    });
  }

  /** Closes idle connections and breaks those in use. Twice is safe. */
  close(): void {
    this.#http.close();
  }
}

async function encodeBody(body: RequestInit['body'] | undefined, headers: Headers): Promise<Buffer | undefined> {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return Buffer.from(body);
  const encoded = new Response(body);
  const type = encoded.headers.get('content-type');
  if (type !== null) headers.set('content-type', type);
  return Buffer.from(await encoded.arrayBuffer());
}

function headersOf(answer: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return headers;
}
