/** Requests to models that are not chat: one POST, one bounded JSON answer, retries as the failure allows. */
import type { ErrorCode } from '../core/error-codes.ts';
import { GatehouseError } from '../core/errors.ts';
import type { ModelFailure } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { createEchoRedactor, urlSecrets } from '../lib/echo-redactor.ts';
import { createHttpFetch, type HttpAnswer, type HttpFetch } from '../lib/http-fetch.ts';
import { readAtMost } from '../lib/read-at-most.ts';
import { timeLimit } from '../lib/time-limit.ts';
import { CallTimeout } from './deadlines.ts';
import { createFailure } from './failure.ts';
import { type FailureContext, failureOfConnection, failureOfErrorObject, failureOfStatus } from './protocols/http-failure.ts';
import { asRecord } from './protocols/tool-call-assembly.ts';
import { WireFault } from './protocols/wire-guard.ts';
import { waitFor } from './retry.ts';

export interface Endpoint {
  readonly provider: string;
  readonly model: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Sent in a header; never in a message of a failure. */
  readonly apiKey?: string;
  /** The request with all its retries. ms. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** 0 <= x < 1, for waits. */
  readonly random: () => number;
  readonly fetch?: HttpFetch;
}

export interface PostRequest {
  readonly path: string;
  /** The header that carries the key alone. Default: `authorization`, with the key as a bearer token. */
  readonly keyHeader?: string | undefined;
  /** Made anew for each attempt: a form can be sent once only. */
  readonly body: () => string | FormData;
  readonly maxAnswerBytes: number;
  /** What was worked on is billed: an answer that broke is not asked for again. */
  readonly isBilled?: boolean;
}

/** As the chat wires: spec B3. */
const MAX_RETRIES = 3;
/** The default of the chat wires. */
const CONNECT_MS = 10_000;
const MAX_ERROR_BYTES = 64_000;

const connect = createHttpFetch(CONNECT_MS);

/**
 * The JSON of a 2xx answer. Rejects with a `WireFault`, or with `signal.reason`. Where the wait before a
 * retry would pass the time limit, the failure comes at once.
 */
export async function postJson(endpoint: Endpoint, request: PostRequest, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted();
  const { clock, timeoutMs } = endpoint;
  const end = clock.monotonic() + timeoutMs;
  using limit = timeLimit(clock, timeoutMs, () => new CallTimeout('whole answer', timeoutMs), signal);
  for (let attempt = 0; ; attempt += 1) {
    const outcome = await tryOnce(endpoint, request, limit.signal);
    signal.throwIfAborted();
    if (!(outcome instanceof WireFault)) return outcome;
    const waitMs = waitFor(outcome.failure, attempt, endpoint);
    const isFinal = !outcome.failure.retryable || (request.isBilled === true && outcome.failure.kind === 'malformed');
    if (isFinal || attempt >= MAX_RETRIES || clock.monotonic() + waitMs >= end) throw outcome;
    await clock.sleep(waitMs, limit.signal);
  }
}

/** For an answer that is JSON but not what was asked for. */
export function malformedAnswer(provider: string, what: string): WireFault {
  return new WireFault(createFailure('malformed', { message: `${provider} answered with ${what}`, retryable: false }));
}

/** What is thrown instead of a `WireFault`, which stays readable as the cause; any other error as it is. */
export function nothingCame(code: ErrorCode, what: string, error: unknown): unknown {
  if (!(error instanceof WireFault)) return error;
  return new GatehouseError(code, `${what} (${error.failure.code})`, { hint: error.failure.hint, cause: error });
}

/** The JSON of a good answer, or the fault. */
async function tryOnce(endpoint: Endpoint, request: PostRequest, until: AbortSignal): Promise<unknown> {
  let answered = false;
  try {
    const body = request.body();
    // Writes a form as its bytes, and names their type.
    const form = typeof body === 'string' ? undefined : new Response(body);
    const response = await (endpoint.fetch ?? connect)(endpoint.baseUrl + request.path, {
      method: 'POST',
      headers: {
        'user-agent': 'gatehouse',
        accept: 'application/json',
        'content-type': form?.headers.get('content-type') ?? 'application/json',
        ...keyHeaders(endpoint.apiKey, request.keyHeader),
      },
      body: form ? new Uint8Array(await form.arrayBuffer()) : String(body),
      signal: until,
    });
    answered = true;
    return await readAnswer(endpoint, response, request.maxAnswerBytes);
  } catch (error) {
    return error instanceof WireFault ? error : new WireFault(failureOf(error, answered, endpoint, until));
  }
}

async function readAnswer(endpoint: Endpoint, response: HttpAnswer, maxBytes: number): Promise<unknown> {
  const { provider } = endpoint;
  const { status, headers, ok } = response;
  if (status >= 300 && status < 400) {
    await readAtMost(response.body, 0);
    throw notAnApi(`${provider} redirects (status ${status})`, status);
  }
  const { bytes, complete } = await readAtMost(response.body, ok ? maxBytes : MAX_ERROR_BYTES);
  if (ok && !complete) throw malformedAnswer(provider, `more than ${maxBytes} bytes`);
  const text = bytes.toString('utf8');
  const json = parseJson(text);
  // Some servers report failures with status 200.
  const error = asRecord(json)['error'] ?? undefined;
  if (!ok) throw new WireFault(failureOfStatus(status, error ?? json ?? text, headers, failureContext(endpoint)));
  if (error !== undefined) throw new WireFault(failureOfErrorObject(error, failureContext(endpoint)));
  if (json !== undefined) return json;
  if (/\btext\/html\b/i.test(headers.get('content-type') ?? '')) throw notAnApi(`${provider} answered with a web page`, status);
  throw new WireFault(createFailure('malformed', { message: `${provider} answered with invalid JSON`, status }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // stands for no JSON
  }
}

function keyHeaders(key: string | undefined, name: string | undefined): Record<string, string> {
  if (key === undefined) return {};
  return name === undefined ? { authorization: `Bearer ${key}` } : { [name]: key };
}

function notAnApi(message: string, status: number): WireFault {
  const hint = 'check that base_url is the address of the API, not of a web site';
  return new WireFault(createFailure('bad-request', { message, hint, status }));
}

function failureOf(error: unknown, answered: boolean, endpoint: Endpoint, until: AbortSignal): ModelFailure {
  const { provider } = endpoint;
  if (until.aborted && until.reason instanceof CallTimeout) {
    return createFailure('timeout', { message: `${provider}: ${until.reason.message}` });
  }
  if (answered) return createFailure('malformed', { message: `${provider} broke the answer off` });
  return failureOfConnection(error, URL.parse(endpoint.baseUrl)?.origin ?? 'an invalid base_url', failureContext(endpoint));
}

function failureContext({ provider, model, baseUrl, apiKey, clock }: Endpoint): FailureContext {
  return { provider, model, redact: createEchoRedactor([apiKey, ...urlSecrets(baseUrl)]), now: clock.now() };
}
