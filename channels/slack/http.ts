/** HTTP for every request of the adapter: tells "never connected" from "no answer", and closes its connections when told to. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';

/** A connection that was not set up by then has sent nothing, which is worth knowing: the message may be tried again. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Answers of the Web API are far smaller; a page of 200 messages at their limit is about this. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** The request never left: refused, no route, no name, no TLS. Safe to try again. */
export class NotConnectedError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`not connected: ${code}`);
    this.name = 'NotConnectedError';
    this.code = code;
  }
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly signal: AbortSignal;
}

/** Keeps connections for the next request. Redirects are answers like others: nothing is followed. */
export class HttpTransport {
  readonly #plain = withConnectProof(new HttpAgent({ keepAlive: true, timeout: 15_000 }), 'connect');
  readonly #tls = withConnectProof(new HttpsAgent({ keepAlive: true, timeout: 15_000 }), 'secureConnect');

  /** Resolves with the head of the answer. Rejects with `NotConnectedError` when nothing was sent, else with whatever broke. */
  request({ method, url, headers, body, signal }: HttpRequest): Promise<IncomingMessage> {
    const tls = url.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const options = { method, signal, agent: tls ? this.#tls : this.#plain, ...(headers && { headers }) };
      const request = (tls ? httpsRequest : httpRequest)(url, options, resolve);
      request.on('error', (error: Error & { notConnected?: string }) => {
        reject(error.notConnected === undefined ? error : new NotConnectedError(error.notConnected));
      });
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

/** An idle connection is dropped long before the platform would: a request written to a connection that just closed has no known fate. */
function withConnectProof<T extends HttpAgent>(agent: T, established: 'connect' | 'secureConnect'): T {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (target, callback) => {
    const socket = connect(target, callback);
    if (!socket) return socket;
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error('connection not set up in time'), { code: 'ETIMEDOUT' }));
    }, CONNECT_TIMEOUT_MS);
    timer.unref();
    // Name, route, port, TLS: whatever fails by now is proof that nothing was sent.
    const onError = (error: Error & { code?: string }): void => {
      Object.assign(error, { notConnected: error.code ?? 'no code' });
    };
    socket.prependListener('error', onError);
    socket.once('close', () => clearTimeout(timer));
    socket.once(established, () => {
      clearTimeout(timer);
      socket.removeListener('error', onError);
    });
    return socket;
  };
  return agent;
}
