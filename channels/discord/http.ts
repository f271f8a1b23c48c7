/** HTTP for the SDK's REST client over `node:http`, because it must be known whether a request that failed had left. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { whenConnected } from '../kit/http-agent.ts';

export class HttpPool {
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor() {
    // An idle connection is dropped long before the platform would drop it: a request written to a connection that the other
    // side just closed is a request nobody knows the fate of.
    this.#http = new HttpAgent({ keepAlive: true, timeout: 15_000 });
    this.#https = new HttpsAgent({ keepAlive: true, timeout: 15_000 });
  }

  /** `onLeft` is called once the connection stands, before the first byte of the request. Follows no redirect. */
  async fetch(url: string, init: RequestInit, onLeft: () => void): Promise<Response> {
    const secure = url.startsWith('https:');
    const headers = new Headers(init.headers);
    const body = await encodeBody(init.body ?? undefined, headers);
    if (body) headers.set('content-length', String(body.length));
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = (secure ? httpsRequest : httpRequest)(url, {
        method: init.method ?? 'GET',
        agent: secure ? this.#https : this.#http,
        headers: Object.fromEntries(headers),
        ...(init.signal && { signal: init.signal }),
      });
      request.once('error', reject);
      request.once('response', resolve);
      whenConnected(request, secure, onLeft);
      request.end(body);
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
    this.#http.destroy();
    this.#https.destroy();
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
