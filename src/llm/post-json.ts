/** Requests to models that are not chat: one POST, one bounded JSON answer, sent again as its failure allows. */
import type { ModelFailure } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import { connectLimitedFetch } from './connect.ts';
import { CallTimeout } from './deadlines.ts';
import { createFailure } from './failure.ts';
import { type FailureContext, failureOfConnection, failureOfErrorObject, failureOfStatus } from './protocols/http-failure.ts';
import { asRecord } from './protocols/tool-call-assembly.ts';
import { WireFault } from './protocols/wire-guard.ts';
import { createRedactor, urlSecrets } from './redact.ts';
import { waitFor } from './retry.ts';

export interface Endpoint {
  readonly provider: string;
  readonly model: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Sent by the headers of each request; here it is what messages must never hold. */
  readonly apiKey?: string;
  /** The request with all its retries. ms. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** 0 <= x < 1, for waits. */
  readonly random: () => number;
  readonly fetch?: typeof fetch;
}

export interface PostRequest {
  /** Appended to the base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Made anew for each attempt: a form can be sent once only. */
  readonly body: () => string | FormData;
  readonly maxAnswerBytes: number;
}

/** As the chat wires: spec B3. */
const MAX_RETRIES = 3;
/** The default of the chat wires. */
const CONNECT_MS = 10_000;
const MAX_ERROR_BYTES = 64_000;

const connect = connectLimitedFetch(CONNECT_MS);

/**
 * The JSON of a 2xx answer. Rejects with a `WireFault` that holds the failure's kind, or with `signal.reason`. A wait that would
 * pass the time limit is not waited: the failure comes at once.
 */
export async function postJson(endpoint: Endpoint, request: PostRequest, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted();
  const { clock, timeoutMs } = endpoint;
  const end = clock.monotonic() + timeoutMs;
  const over = new AbortController();
  const settled = new AbortController();
  clock.sleep(timeoutMs, settled.signal).then(
    () => over.abort(new CallTimeout('whole answer', timeoutMs)),
    () => undefined, // the call was quicker
  );
  const until = AbortSignal.any([signal, over.signal]);
  try {
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await tryOnce(endpoint, request, until);
      signal.throwIfAborted();
      if ('value' in outcome) return outcome.value;
      const { failure } = outcome;
      const waitMs = waitFor(failure, attempt, endpoint);
      if (!failure.retryable || attempt >= MAX_RETRIES || clock.monotonic() + waitMs >= end) throw new WireFault(failure);
      await clock.sleep(waitMs, until);
    }
  } finally {
    settled.abort(NO_LONGER_NEEDED);
  }
}

/** For an answer that is JSON but not what was asked for. */
export function malformedAnswer(provider: string, what: string): WireFault {
  return new WireFault(createFailure('malformed', { message: `${provider} answered with ${what}`, retryable: false }));
}

type Outcome = { readonly value: unknown } | { readonly failure: ModelFailure };

async function tryOnce(endpoint: Endpoint, request: PostRequest, until: AbortSignal): Promise<Outcome> {
  let answered = false;
  try {
    const body = request.body();
    const response = await (endpoint.fetch ?? connect)(endpoint.baseUrl + request.path, {
      method: 'POST',
      headers: {
        'user-agent': 'gatehouse',
        accept: 'application/json',
        ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
        ...request.headers,
      },
      body,
      // A redirect would carry what was said, and on the same host the key, to a place nobody configured.
      redirect: 'manual',
      signal: until,
    });
    answered = true;
    return await readAnswer(endpoint, response, request.maxAnswerBytes);
  } catch (error) {
    return { failure: failureOf(error, answered, endpoint, until) };
  }
}

async function readAnswer(endpoint: Endpoint, response: Response, maxBytes: number): Promise<Outcome> {
  const { status, headers, ok } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel();
    return { failure: notAnApi(`${endpoint.provider} redirects (status ${status})`, status) };
  }
  const text = await readText(endpoint.provider, response, ok ? maxBytes : MAX_ERROR_BYTES, ok);
  const context = failureContext(endpoint);
  const json = parseJson(text);
  if (!ok) return { failure: failureOfStatus(status, asRecord(json)['error'] ?? json ?? text, headers, context) };
  if (json === undefined) {
    const isPage = /\btext\/html\b/i.test(headers.get('content-type') ?? '');
    if (isPage) return { failure: notAnApi(`${endpoint.provider} answered with a web page`, status) };
    return { failure: createFailure('malformed', { message: `${endpoint.provider} answered with invalid JSON`, status }) };
  }
  const { error } = asRecord(json);
  // Some servers report failures with status 200.
  if (error !== undefined && error !== null) return { failure: failureOfErrorObject(error, context) };
  return { value: json };
}

/** Bodies of errors are cut at the cap, answers refused above it. */
export async function readText(provider: string, response: Response, maxBytes: number, refuse: boolean): Promise<string> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  if (!response.body) return '';
  for await (const chunk of response.body) {
    total += chunk.length;
    if (total > maxBytes && refuse) throw malformedAnswer(provider, `more than ${maxBytes} bytes`);
    chunks.push(chunk);
    if (total > maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no JSON text stands for undefined
  }
}

function notAnApi(message: string, status: number): ModelFailure {
  const hint = 'check that base_url is the address of the API, not of a web site';
  return createFailure('bad-request', { message, hint, status });
}

function failureOf(error: unknown, answered: boolean, endpoint: Endpoint, until: AbortSignal): ModelFailure {
  if (error instanceof WireFault) return error.failure;
  const { provider } = endpoint;
  if (until.aborted && until.reason instanceof CallTimeout) {
    return createFailure('timeout', { message: `${provider}: ${until.reason.message}` });
  }
  if (answered) return createFailure('malformed', { message: `${provider} broke the answer off` });
  return failureOfConnection(error, URL.parse(endpoint.baseUrl)?.origin ?? 'an invalid base_url', failureContext(endpoint));
}

function failureContext({ provider, model, baseUrl, apiKey, clock }: Endpoint): FailureContext {
  return { provider, model, redact: createRedactor([apiKey, ...urlSecrets(baseUrl)]), now: clock.now() };
}
