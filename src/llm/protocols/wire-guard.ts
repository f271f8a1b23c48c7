/** A fetch that bounds what a server may do to us before a client library sees it. */

import type { ModelFailure } from '../../core/model.ts';
import { createFailure, quote } from '../failure.ts';

/** Spec B7: SSE buffer cap. A longer line is a broken or hostile server (F28). */
const LINE_BYTES = 1_000_000;
/** More than any model writes in one answer; bounds memory against an endless stream. */
const BODY_BYTES = 32_000_000;
const NEWLINE = 10;

/** Headers of ours that may leave. A client library adds what it finds in the environment, which belongs to another provider. */
const SENT_HEADERS = ['accept', 'authorization', 'content-type'];

/** A failure found below the client library, carried through it. */
export class WireFault extends Error {
  readonly failure: ModelFailure;

  constructor(failure: ModelFailure) {
    super(failure.message);
    this.name = 'WireFault';
    this.failure = failure;
  }
}

/** Wraps `fetch` for streaming chat wires: own headers only, no redirects, bounded lines and bodies, plain JSON turned into one SSE event. */
export function guardFetch(fetchFn: typeof fetch, userAgent: string): typeof fetch {
  return async (input, init) => {
    const given = new Headers(init?.headers);
    const headers = new Headers({ 'user-agent': userAgent });
    for (const name of SENT_HEADERS) {
      const value = given.get(name);
      if (value !== null) headers.set(name, value);
    }
    // A redirect would carry the prompt, and on the same host the key, to a place nobody configured.
    const response = await fetchFn(input, { ...init, headers, redirect: 'manual' });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw fault('bad-request', `the server redirects (status ${response.status})`, response.status);
    }
    const bounded = boundedResponse(response);
    const type = response.headers.get('content-type') ?? '';
    if (!response.ok) return bounded;
    if (/\btext\/html\b/i.test(type)) {
      await bounded.body?.cancel();
      throw fault('bad-request', 'the server answered with a web page', response.status);
    }
    return /\bapplication\/json\b/i.test(type) ? jsonAsEvent(bounded) : bounded;
  };
}

function fault(kind: 'bad-request' | 'malformed', message: string, status?: number): WireFault {
  const hint = kind === 'bad-request' ? 'check that base_url is the address of the API, not of a web site' : undefined;
  return new WireFault(createFailure(kind, { message, status, ...(hint ? { hint } : {}) }));
}

/** One stream in front of the body, not a pipe through a transform: that made a message's way a tenth longer. */
function boundedResponse(response: Response): Response {
  if (!response.body) return response;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  let line = 0;
  let total = 0;
  // Reads one chunk ahead, so that it knows the end before a client library cancels what it takes for unfinished.
  const bounded = new ReadableStream<Uint8Array>({
    async pull(sink) {
      const { done, value: bytes } = await reader.read();
      if (done) return sink.close();
      total += bytes.length;
      const last = bytes.lastIndexOf(NEWLINE);
      line = last === -1 ? line + bytes.length : bytes.length - 1 - last;
      const longest = last === -1 ? line : Math.max(line, bytes.length);
      if (longest > LINE_BYTES || total > BODY_BYTES) {
        const error = fault('malformed', `the server sent a line or body past the limit (${total} bytes so far)`);
        await reader.cancel(error);
        throw error;
      }
      sink.enqueue(bytes);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(bounded, { status: response.status, headers: response.headers });
}

/** A whole completion in place of a stream; an `error` object inside it is then found like one in a stream. */
async function jsonAsEvent(response: Response): Promise<Response> {
  const body = await response.text();
  let event: string;
  try {
    event = JSON.stringify(JSON.parse(body));
  } catch {
    throw fault('malformed', `the server answered with invalid JSON (${quote(body).length} characters)`, response.status);
  }
  return new Response(`data: ${event}\n\ndata: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } });
}
