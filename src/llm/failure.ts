import { ERROR_CODES, type ErrorCode } from '../core/error-codes.ts';
import type { FailureKind, ModelFailure } from '../core/model.ts';

/** Code of each kind and whether the same request may succeed when simply sent again (spec B3). */
const KINDS: Readonly<Record<FailureKind, { code: ErrorCode; retryable: boolean }>> = {
  'rate-limit': { code: 'GH2102', retryable: true },
  overloaded: { code: 'GH2103', retryable: true },
  server: { code: 'GH2103', retryable: true },
  network: { code: 'GH2104', retryable: true },
  // Our own limits are for the next provider of a chain, not for the same one again: B3.
  timeout: { code: 'GH2105', retryable: false },
  auth: { code: 'GH2101', retryable: false },
  payment: { code: 'GH2110', retryable: false },
  'bad-request': { code: 'GH2106', retryable: false },
  forbidden: { code: 'GH2118', retryable: false },
  'model-gone': { code: 'GH2117', retryable: false },
  'context-length': { code: 'GH2107', retryable: false },
  // What a model withholds it withholds again, at the same price; another model may answer.
  'content-filter': { code: 'GH2111', retryable: false },
  empty: { code: 'GH2108', retryable: true },
  malformed: { code: 'GH2109', retryable: true },
  budget: { code: 'GH2112', retryable: false },
  aborted: { code: 'GH2109', retryable: false },
};

/** Longest provider text quoted in a message. */
const QUOTE_CHARS = 300;

export interface FailureDetails {
  readonly message: string;
  /** Says more than the kind's own. */
  readonly code?: ErrorCode;
  readonly hint?: string;
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly retryable?: boolean | undefined;
}

/** A failure with code, retry rule and hint of its kind; `details` win. `message` must hold no secret. */
export function createFailure(kind: FailureKind, details: FailureDetails): ModelFailure {
  const { message, code = KINDS[kind].code, hint = ERROR_CODES[code].hint, retryAfterMs, status } = details;
  return {
    ...{ kind, code, message, hint, retryable: details.retryable ?? KINDS[kind].retryable },
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(status === undefined ? {} : { status }),
  };
}

/** What every wrapper and wire ends with when its signal aborted. */
export function abortedFailure(): ModelFailure {
  return createFailure('aborted', { message: 'the call was cancelled', hint: 'nothing to do' });
}

/** Provider text made fit for one log line. */
export function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > QUOTE_CHARS ? `${line.slice(0, QUOTE_CHARS)}…` : line;
}
