import type { SendResult } from '../../src/core/channel.ts';
import { errorText } from '../../src/core/errors.ts';
import { type ApiFailure, CallError, type CallFailure } from './call-error.ts';

/** Why a platform refuses a part for good. */
export type Refusal = Extract<SendResult, { kind: 'refused' }>['reason'];

/** What an error of one platform means. Undefined where its HTTP status says all that is known. */
export type ApiMeaning = (failure: ApiFailure) => Refusal | SendResult | undefined;

/** What delivery is told about a call that failed; `meaning` has the platform's own table of codes. */
export function sendResultOf(failure: CallFailure, meaning: ApiMeaning): SendResult {
  const { detail } = failure;
  switch (failure.kind) {
    case 'unreached':
      return { kind: 'retry', reason: detail, scope: 'account' };
    case 'lost':
      return { kind: 'unknown', detail };
    case 'limited':
      return { kind: 'retry', reason: detail, afterMs: failure.retryAfterMs, scope: failure.scope };
    case 'http':
      return failure.status >= 500 ? { kind: 'unknown', detail } : { kind: 'refused', reason: 'invalid', detail };
    case 'api': {
      const meant = meaning(failure);
      if (typeof meant === 'object') return meant;
      const { status = 200 } = failure;
      // 5xx comes from a machine that may have passed the message on already.
      if (meant === undefined && status >= 500) return { kind: 'unknown', detail: `${status} ${detail}` };
      return { kind: 'refused', reason: meant ?? (status === 401 ? 'auth' : status === 403 ? 'blocked' : 'invalid'), detail };
    }
  }
}

/**
 * What delivery is told about whatever a send rejected with. Anything but a `CallError` is in doubt: neither
 * a time limit nor an abort takes a request back that has left.
 */
export function settleFailedSend(error: unknown, ofCall: (failure: CallFailure) => SendResult): SendResult {
  return error instanceof CallError ? ofCall(error.failure) : { kind: 'unknown', detail: errorText(error) };
}
