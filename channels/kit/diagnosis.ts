import type { ChannelHealth } from '../../src/core/channel.ts';
import { errorText, isGatehouseError } from '../../src/core/errors.ts';
import { CallError, type CallFailure, describe } from './call-error.ts';
import { DeadlineError } from './deadline.ts';
import { withAdvice } from './reported-health.ts';

/** What the operator is told about a connection that could not be made or that ended, and what comes next. */
export interface Diagnosis {
  readonly state: Extract<ChannelHealth, 'degraded' | 'down'>;
  readonly detail: string;
  /** How long to wait beyond the ordinary back-off, in ms. */
  readonly waitMs: number;
  /** The platform refused the login: asking again changes nothing before the operator mends it. */
  readonly refusedLogin?: true;
}

/** Only the operator can mend a refused login; it may have been mended without a restart. ms. */
export const REFUSED_WAIT_MS = 300_000;

/** Time may mend it. */
export function degraded(detail: string, waitMs = 0): Diagnosis {
  return { state: 'degraded', detail, waitMs };
}

/** Nothing can arrive, and waiting alone will not change that. */
export function down(detail: string, waitMs = 0): Diagnosis {
  return { state: 'down', detail, waitMs };
}

export interface DiagnosisRules {
  /** What a failed call means on this platform. Undefined: the ordinary words for a failure of its kind. */
  readonly ofCall: (error: CallError) => Diagnosis | undefined;
  /**
   * What anything else means that is neither a failed call nor a time limit. Default: its words, `degraded`.
   */
  readonly ofOther?: (error: unknown) => Diagnosis;
}

/** Judges what a connection, or the calls that open it, ended with. */
export function diagnose(error: unknown, { ofCall, ofOther }: DiagnosisRules): Diagnosis {
  if (error instanceof DeadlineError) return degraded(`GH1502: the platform does not answer (${error.message})`);
  if (error instanceof CallError) return ofCall(error) ?? ordinary(error.failure);
  return ofOther?.(error) ?? degraded(errorText(error));
}

function ordinary(failure: CallFailure): Diagnosis {
  switch (failure.kind) {
    case 'api':
      return degraded(`GH1502: ${describe(failure)}`, failure.retryAfterMs);
    case 'limited':
      return degraded(`GH1502: ${failure.detail}`, failure.retryAfterMs);
    default:
      return degraded(withAdvice(failure.detail));
  }
}

/** The words of an error, with what to do about it where it is one of ours. */
export function wordsWithHint(error: unknown): string {
  return isGatehouseError(error) ? `${error.code}: ${error.message}; ${error.hint}` : errorText(error);
}
