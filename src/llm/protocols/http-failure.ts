/** From HTTP statuses, error bodies and connection errors to failure values. Shared by all wires. */
import type { FailureKind, ModelFailure } from '../../core/model.ts';
import type { Redact } from '../../lib/echo-redactor.ts';
import { type HeaderLookup, parseRetryAfter } from '../../lib/retry-after.ts';
import { createFailure, quote } from '../failure.ts';
import { asRecord } from './tool-call-assembly.ts';

export interface FailureContext {
  readonly provider: string;
  readonly model: string;
  readonly redact: Redact;
  /** Epoch ms, for Retry-After dates. */
  readonly now: number;
}

/** An error that the server answered with, in the shape of the client libraries' own errors: `callWire` maps it to a failure. */
export class AnsweredError extends Error {
  /** Undefined in the middle of a stream. */
  readonly status: number | undefined;
  /** The `error` member of the body, or the body. */
  readonly error: unknown;
  readonly headers: HeaderLookup | undefined;

  constructor(status: number | undefined, error: unknown, headers?: HeaderLookup) {
    super('the server answered with an error');
    this.name = 'AnsweredError';
    this.status = status;
    this.error = error;
    this.headers = headers;
  }
}

interface ErrorBody {
  readonly text: string;
  /** `code`, `type` and `status` words of the body, lower case, joined: what providers differ in least. */
  readonly words: string;
}

/** What is read of an error body: searching one of many megabytes for each piece of a key would hold the daemon up for seconds. */
const MAX_TEXT = 64_000;
const MAX_WORDS = 1_000;

function parseBody(error: unknown): ErrorBody {
  if (typeof error === 'string') return { text: error.slice(0, MAX_TEXT), words: '' };
  const whole = asRecord(error);
  // Some client libraries hand on the member, some the body around it.
  const record = whole['message'] === undefined && typeof whole['error'] === 'object' ? asRecord(whole['error']) : whole;
  const text =
    typeof record['message'] === 'string' ? record['message'] : error === undefined ? '' : (JSON.stringify(error) ?? '');
  const words = [record['code'], record['type'], record['status']].filter((word) => word !== undefined && word !== null);
  return { text: text.slice(0, MAX_TEXT), words: words.join(' ').slice(0, MAX_WORDS).toLowerCase() };
}

const CONTEXT_LENGTH =
  /context_length_exceeded|context (?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens|exceeds? (?:the (?:available )?)?context|input token count/i;
const FILTERED = /content_filter|policy_violation|bio_policy|data_inspection_failed/i;
const NO_CREDIT =
  /insufficient_quota|insufficient_balance|insufficient balance|credit balance is too low|billing_(?:hard_limit|not_active|error)|exceeded your current quota/i;

/** An HTTP status other than 2xx. `error` is the `error` member of the body, or the body. */
export function failureOfStatus(
  status: number,
  error: unknown,
  headers: HeaderLookup | undefined,
  context: FailureContext,
): ModelFailure {
  const body = parseBody(error);
  const kind = kindOfStatus(status, body);
  return describe(kind, { status, body, headers, context, where: `status ${status}` });
}

/** An error object in the middle of a stream: there is no status any more, the words of the object decide. */
export function failureOfErrorObject(error: unknown, context: FailureContext): ModelFailure {
  const body = parseBody(error);
  // OpenRouter and others put the upstream's status into `code`.
  const status = Number(asRecord(error)['code'] ?? asRecord(error)['status']);
  const kind = status >= 400 && status < 600 ? kindOfStatus(status, body) : kindOfWords(body);
  return describe(kind, { body, headers: undefined, context, where: 'an error in the middle of the answer' });
}

function kindOfStatus(status: number, body: ErrorBody): FailureKind {
  const everything = `${body.words} ${body.text}`;
  // Gemini says "exceeded your current quota" of every limit, also of one that lasts a minute.
  if (NO_CREDIT.test(everything) && !body.words.includes('resource_exhausted')) return 'payment';
  switch (status) {
    case 401:
    case 403:
      return 'auth';
    case 402:
      return 'payment';
    case 408:
      return 'timeout';
    case 409:
      return 'server';
    case 429:
      return 'rate-limit';
    case 503:
    case 529:
      return 'overloaded';
    default:
  }
  if (status >= 500) return 'server';
  if (status === 413 || CONTEXT_LENGTH.test(everything)) return 'context-length';
  if (FILTERED.test(everything)) return 'content-filter';
  // Spec B3: gateways pass on the troubles of their upstreams under statuses of their own.
  if (/connection (?:refused|reset)|timed out|overloaded/i.test(body.text)) return 'overloaded';
  // Gemini answers a bad key with 400.
  return /api[ _]key[ _](?:not valid|invalid)/i.test(everything) ? 'auth' : 'bad-request';
}

function kindOfWords(body: ErrorBody): FailureKind {
  const everything = `${body.words} ${body.text}`;
  if (NO_CREDIT.test(everything)) return 'payment';
  if (CONTEXT_LENGTH.test(everything)) return 'context-length';
  if (FILTERED.test(everything)) return 'content-filter';
  if (/rate.?limit|too many requests|resource_exhausted/i.test(everything)) return 'rate-limit';
  if (/overloaded|capacity|unavailable/i.test(everything)) return 'overloaded';
  if (/authenticat|invalid_api_key|permission/i.test(body.words)) return 'auth';
  if (/invalid_(?:request|argument|prompt)|image|bad_request|not_found/i.test(body.words)) return 'bad-request';
  return 'server';
}

function describe(
  kind: FailureKind,
  parts: { status?: number; body: ErrorBody; headers: HeaderLookup | undefined; context: FailureContext; where: string },
): ModelFailure {
  const { status, body, context } = parts;
  const retryAfterMs = parseRetryAfter(parts.headers, body.text, context.now);
  // Bodies of refused keys quote the key in ways no filter can foresee: they are never passed on.
  const said = kind === 'auth' || body.text === '' ? '' : `: ${quote(context.redact(body.text))}`;
  const hint = status === 404 ? notFoundHint(context) : undefined;
  // The failover rule reads messages (spec B3), and this word stands in the code only.
  const word = /\binvalid_value\b/.exec(body.words)?.[0];
  return createFailure(kind, {
    message: `${context.provider} answered with ${parts.where}${word ? ` ${word}` : ''}${said}`,
    status,
    retryAfterMs,
    // The server's own 408 is worth another try, unlike our time limit; a withheld prompt is withheld again.
    ...(kind === 'timeout' ? { retryable: true } : {}),
    ...(kind === 'content-filter' && status !== undefined ? { retryable: false } : {}),
    ...(hint ? { hint } : {}),
  });
}

function notFoundHint(context: FailureContext): string {
  return `check the model name "${context.model}" and base_url`;
}

/** A connection that never came to an answer. Says what it was in our words: texts of the platform may hold the URL. */
export function failureOfConnection(error: unknown, origin: string, context: FailureContext): ModelFailure {
  const code = causeCode(error);
  if (/CERT|SELF_SIGNED|SIGNATURE|TLS|SSL|ISSUER/.test(code)) {
    const expired = code === 'CERT_HAS_EXPIRED';
    return createFailure('network', {
      message: `${context.provider} at ${origin} cannot be trusted (${code})`,
      hint: expired
        ? "the server's certificate has expired: renew it, or correct this machine's clock"
        : 'the certificate is not trusted here: set NODE_EXTRA_CA_CERTS to the authority that signed it, or check base_url',
      retryable: false,
    });
  }
  return createFailure('network', {
    message: `${context.provider} at ${origin} cannot be reached (${code || 'no detail'})`,
    hint: connectionHint(code, origin),
  });
}

function connectionHint(code: string, origin: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens at ${origin}: start the server, or check base_url`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name does not resolve: check base_url and DNS';
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return 'no connection in time: check base_url, the network and any firewall';
    default:
      return 'check base_url and the network';
  }
}

/** The first system error code down the chain of causes; an AggregateError (both address families tried) counts as its first. */
function causeCode(error: unknown): string {
  let at = error;
  for (let depth = 0; at instanceof Error && depth < 6; depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined);
  }
  return '';
}
