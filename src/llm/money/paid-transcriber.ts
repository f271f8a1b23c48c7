import { GatehouseError } from '../../core/errors.ts';
import type { UsageEntry } from '../../core/ledger.ts';
import type { Transcriber } from '../../core/media-models.ts';
import type { ModelCallContext } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { WireFault } from '../protocols/wire-guard.ts';
import type { TranscriptionUsage } from '../transcription/openai-transcriber.ts';
import type { Budget } from './budget.ts';
import { usageEntry } from './usage-entry.ts';
import { isUnbilled, refusalFailure } from './with-budget.ts';

/** Speech hardly ever takes fewer (Opus at 8 kbit/s). It bounds what an unheard recording may cost. */
const FEWEST_BYTES_PER_SECOND = 1_000;
/** No codec of speech needs fewer: what a server counts beyond that is no time, and no limit counts it. */
const LEAST_BYTES_PER_SECOND = 50;

export interface PaidTranscriberOptions {
  readonly context: ModelCallContext;
  readonly budget: Budget;
  /** null = unknown, 0 = a server of one's own. */
  readonly usdPerMinute: number | null;
  readonly clock: Clock;
  /** For the ledger; must not throw. */
  readonly onSpent: (entry: UsageEntry) => void;
}

/** Makes the transcriber with its listener for what each answer took. */
export type MakeTranscriber = (onUsage: (usage: TranscriptionUsage) => void) => Transcriber;

/**
 * Each recording is reserved before it is sent, settled by its length and booked; one that broke off is
 * booked at its worst case. Rejects with GH2114, with nothing sent, when a limit does not allow it.
 */
export function createPaidTranscriber(make: MakeTranscriber, options: PaidTranscriberOptions): Transcriber {
  const { context, budget, usdPerMinute } = options;
  const cost = (seconds: number): number | null => (usdPerMinute === null ? null : (seconds / 60) * usdPerMinute);
  return {
    id: make(() => undefined).id,
    async transcribe(file, signal) {
      // The time of a message may be over before its last recordings, which then are not sent.
      signal.throwIfAborted();
      const worstSeconds = file.bytes / FEWEST_BYTES_PER_SECOND;
      const reservation = budget.reserve(context, cost(worstSeconds));
      if (reservation.kind === 'refused') {
        const { message, hint } = refusalFailure(reservation, this.id);
        const unknown = reservation.reason === 'unknown-price';
        throw new GatehouseError('GH2114', message, { hint: unknown ? 'set "price_per_minute" in the config' : hint });
      }
      const book = (usage: TranscriptionUsage, purpose: string): void => {
        const { seconds } = usage;
        const isLength = seconds !== null && seconds <= file.bytes / LEAST_BYTES_PER_SECOND;
        const costUsd = cost(isLength ? seconds : worstSeconds);
        reservation.settle(costUsd);
        const counts = { tokensIn: 0, tokensOut: 0, tokensCached: 0, costUsd };
        const entry = { context: { ...context, purpose }, at: options.clock.now(), usage: counts };
        options.onSpent(usageEntry('transcription', `${usage.provider}/${usage.model}`, entry));
      };
      const transcriber = make((usage) => book(usage, 'transcription'));
      try {
        return await transcriber.transcribe(file, signal);
      } catch (error) {
        const [provider = '', ...model] = transcriber.id.split('/');
        const unfinished = reservation.open && (signal.aborted || wasWorkedOn(error));
        if (unfinished) book({ provider, model: model.join('/'), seconds: null }, 'transcription:unfinished');
        throw error;
      } finally {
        reservation.release();
      }
    },
  };
}

/** As for a call of a chat model: what was sent and broke off is billed by its provider. */
function wasWorkedOn(error: unknown): boolean {
  const fault = error instanceof Error ? error.cause : undefined;
  return fault instanceof WireFault && !isUnbilled(fault.failure);
}
