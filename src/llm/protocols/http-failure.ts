/** From HTTP statuses, error bodies and connection errors to failure values. Shared by all wires. */
import { ERROR_CODES } from '../../core/error-codes.ts';
import type { FailureKind, ModelFailure } from '../../core/model.ts';
import type { Redact } from '../../lib/echo-redactor.ts';
import { isDeep } from '../../lib/json-depth.ts';
import { type HeaderLookup, parseRetryAfter } from '../../lib/retry-after.ts';
import { createFailure, quote } from '../failure.ts';
import { type ErrorBody, kindOf, outputLimitIn, windowIn } from './failure-kinds.ts';
import { asRecord } from './tool-call-assembly.ts';

export interface FailureContext {
  readonly provider: string;
  readonly model: string;
  readonly redact: Redact;
  /** Epoch ms, for Retry-After dates. */
  readonly now: number;
}

/** An answered error in the shape of the client libraries' own errors: `callWire` maps it to a failure. */
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

/** Read of an error body: searching megabytes for each piece of a key would block the daemon for seconds. */
const MAX_TEXT = 64_000;
const MAX_WORDS = 1_000;

function parseBody(error: unknown): ErrorBody {
  if (typeof error === 'string') return { text: error.slice(0, MAX_TEXT), words: '' };
  const whole = asRecord(Array.isArray(error) ? error[0] : error);
  // Some client libraries hand on the member, some the body around it; xAI and LM Studio have a string there.
  const inner = whole['message'] === undefined ? whole['error'] : undefined;
  if (typeof inner === 'string') return { ...parseBody(inner), words: wordsOf([whole['code']]) };
  const record = typeof inner === 'object' ? asRecord(inner) : whole;
  const metadata = asRecord(record['metadata']);
  const details = Array.isArray(record['details']) ? record['details'].map(asRecord) : [asRecord(record['details'])];
  const { message } = record;
  const text = typeof message === 'string' ? message : error === undefined || isDeep(error) ? '' : JSON.stringify(error);
  // OpenRouter puts what the provider behind it said there.
  const raw = typeof metadata['raw'] === 'string' ? `: ${metadata['raw']}` : '';
  const words = wordsOf([
    ...[record['code'], record['type'], record['status'], asRecord(record['innererror'])['code']],
    ...details.flatMap((detail) => [detail['reason'], detail['error_code']]),
    Array.isArray(metadata['reasons']) ? 'moderation' : undefined,
  ]);
  const window = record['n_ctx'];
  return {
    text: (text + raw).slice(0, MAX_TEXT),
    words,
    ...(typeof window === 'number' && window >= 256 ? { window } : {}),
  };
}

function wordsOf(words: readonly unknown[]): string {
  const said = words.filter((word) => typeof word === 'string' || typeof word === 'number');
  return said.join(' ').slice(0, MAX_WORDS).toLowerCase();
}

/** An HTTP status other than 2xx. `error` is the `error` member of the body, or the body. */
export function failureOfStatus(
  status: number,
  error: unknown,
  headers: HeaderLookup | undefined,
  context: FailureContext,
): ModelFailure {
  const body = parseBody(error);
  return describe(kindOf(status, body, context.provider), { status, body, headers, context, where: `status ${status}` });
}

/** An error object in the middle of a stream: there is no status any more, the words of the object decide. */
export function failureOfErrorObject(error: unknown, context: FailureContext): ModelFailure {
  const body = parseBody(error);
  // OpenRouter and others put the upstream's status into `code`.
  const status = Number(asRecord(error)['code'] ?? asRecord(error)['status']);
  const kind = kindOf(status >= 400 && status < 600 ? status : undefined, body, context.provider);
  return describe(kind, { body, headers: undefined, context, where: 'an error in the middle of the answer' });
}

function describe(
  kind: FailureKind,
  parts: { status?: number; body: ErrorBody; headers: HeaderLookup | undefined; context: FailureContext; where: string },
): ModelFailure {
  const { status, body, context } = parts;
  const retryAfterMs = parseRetryAfter(parts.headers, body.text, context.now);
  // Bodies of refused keys quote the key in ways no filter can foresee: they are never passed on.
  const said = kind === 'auth' || body.text === '' ? '' : `: ${quote(context.redact(body.text))}`;
  // The failover rule reads messages (spec B3), and this word stands in the code only.
  const word = /\binvalid_value\b/.exec(body.words)?.[0];
  const maxOutputTokens = outputLimitIn(body.text);
  const contextWindow = kind === 'context-length' ? windowIn(body) : undefined;
  const failure = createFailure(kind, {
    message: `${context.provider} answered with ${parts.where}${word ? ` ${word}` : ''}${said}`,
    status,
    retryAfterMs,
    // The server's own 408 is worth another try, unlike our time limit.
    ...(kind === 'timeout' ? { retryable: true } : {}),
    ...(kind === 'bad-request' || kind === 'payment' ? hintOf(status, maxOutputTokens, context) : {}),
    ...(kind === 'auth' ? { hint: ERROR_CODES.GH2101.hint.replace('PROVIDER', context.provider) } : {}),
  });
  return {
    ...failure,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  };
}

function hintOf(status: number | undefined, limit: number | undefined, { model }: FailureContext): { hint?: string } {
  if (limit !== undefined)
    return { hint: `at most ${limit} output tokens are accepted: lower the output limit, or look at the account` };
  return status === 404 ? { hint: `check the model name "${model}" and base_url` } : {};
}

/** A connection that never came to an answer, told in our words: texts of the platform may hold the URL. */
export function failureOfConnection(error: unknown, origin: string, context: FailureContext): ModelFailure {
  const code = causeCode(error);
  if (code !== NO_TLS && /CERT|SELF_SIGNED|SIGNATURE|TLS|SSL|ISSUER/.test(code)) {
    return createFailure('network', {
      message: `${context.provider} at ${origin} cannot be trusted (${code})`,
      hint:
        code === 'CERT_HAS_EXPIRED'
          ? "the server's certificate has expired: renew it, or correct this machine's clock"
          : 'the certificate is not trusted here: set NODE_EXTRA_CA_CERTS to the authority that signed it, or check base_url',
      retryable: false,
    });
  }
  return createFailure('network', {
    message: `${context.provider} at ${origin} cannot be reached (${code || 'no detail'})`,
    hint: connectionHint(code, origin),
    ...(code === NO_TLS ? { retryable: false } : {}),
  });
}

function connectionHint(code: string, origin: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens at ${origin}: start the server, or check base_url`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name does not resolve: check base_url and DNS; behind a proxy set HTTPS_PROXY and NODE_USE_ENV_PROXY=1';
    case NO_TLS:
      return 'the server does not speak TLS as https:// demands: write http:// in base_url, or check its port';
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return 'no connection in time: check base_url, the network and any firewall; behind a proxy set HTTPS_PROXY and NODE_USE_ENV_PROXY=1';
    default:
      return 'check base_url and the network';
  }
}

/** What answers is no TLS, such as plain HTTP. */
const NO_TLS = 'ERR_SSL_WRONG_VERSION_NUMBER';

/** The first system error code in the chain of causes; of an AggregateError (IPv4 and IPv6) its first. */
function causeCode(error: unknown): string {
  let at = error;
  for (let depth = 0; at instanceof Error && depth < 6; depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined);
  }
  return '';
}
