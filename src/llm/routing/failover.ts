import type { FailureKind, ModelFailure } from '../../core/model.ts';

/** Spec B3: a 400 about one provider's taste in histories and keys, which another may not share. */
const OTHERS_MAY_ACCEPT = /must not be empty|reasoning_content|API key not valid|invalid_value/i;

/** The request's own doing: no other model answers it better, but for a larger window (see `nextSlot`). */
const REQUEST_FAULTS: readonly FailureKind[] = ['aborted', 'bad-request', 'context-length'];

/** Says nothing about the health of the model: it was not asked, or it did as its rules say. */
const NOT_THE_MODEL: readonly FailureKind[] = [...REQUEST_FAULTS, 'content-filter', 'budget'];

/**
 * Whether another model may answer what this one did not (spec B3, a superset of what is retried): not after
 * an abort, for a request that is too long or wrong in itself, or when the failure is final.
 */
export function isFailoverWorthy(failure: ModelFailure): boolean {
  if (failure.final) return false;
  if (isWrongAddress(failure)) return true;
  if (failure.kind === 'bad-request') return OTHERS_MAY_ACCEPT.test(failure.message);
  return !REQUEST_FAULTS.includes(failure.kind);
}

/**
 * Whether a failure counts against the model that served. Narrower than spec B4, which counts every error:
 * one session with a broken history must not take a model from all others (F21).
 */
export function isModelFault(failure: ModelFailure): boolean {
  return isWrongAddress(failure) || !NOT_THE_MODEL.includes(failure.kind);
}

/** 404, 405, 410: no such API, or a model that was withdrawn. Below 400: a web page. The request is fine. */
export function isWrongAddress({ kind, status = 400 }: ModelFailure): boolean {
  return kind === 'bad-request' && (status < 400 || [404, 405, 410].includes(status));
}
