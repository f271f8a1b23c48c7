import { type Agent, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Readable } from 'node:stream';

export interface HttpRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is sent in chunks, and destroyed with the request. */
  readonly body?: string | Readable;
  readonly signal: AbortSignal;
  /** As `createHttpAgent` makes it: its errors tell whether the request left. */
  readonly agent: Agent;
}

/**
 * One request over the connections of `agent`, for SDKs that let their `fetch` be replaced: `node-fetch`
 * costs twice the CPU. Resolves with the unread answer; a redirect is one. Rejects with the error of the
 * connection, or with the signal's reason; so does the answer while it is read.
 */
export function sendRequest(
  url: string,
  { method = 'GET', headers = {}, body, signal, agent }: HttpRequest,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    if (typeof body === 'object' && body.destroyed) return reject(body.errored ?? new Error('the body is gone'));
    const request = (url.startsWith('https:') ? requestTls : requestPlain)(url, { method, headers, agent });
    let answer: IncomingMessage | undefined;
    const onAbort = (): void => {
      const reason = reasonOf(signal);
      if (!answer || !request.writableFinished) request.destroy(reason);
      if (!answer?.complete) answer?.destroy(reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    request.once('response', (message) => {
      answer = message;
      // An answer may come before the whole of a file was sent, and then the rest is not taken.
      message.once('end', () => request.writableFinished || request.destroy());
      resolve(message);
    });
    request.on('error', (error) => reject(signal.aborted ? reasonOf(signal) : error));
    request.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (!answer) reject(new Error('the connection was closed without an answer'));
    });
    if (body === undefined || typeof body === 'string') request.end(body);
    else {
      body.once('error', (error) => request.destroy(error));
      request.once('close', () => body.destroy());
      body.pipe(request);
    }
  });
}

/** Signals of client libraries may have none. */
function reasonOf(signal: AbortSignal): Error {
  return (signal.reason as Error | undefined) ?? new DOMException('the request was aborted', 'AbortError');
}
