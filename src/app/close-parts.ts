import { DeadlineError, withDeadline } from '../../channels/kit/deadline.ts';
import { ERROR_CODES } from '../core/error-codes.ts';
import type { Clock, Logger } from '../core/ports.ts';

/**
 * What all parts together may take to close beyond the grace for turns and sends. The unit's stop time-out is
 * longer.
 */
const CLOSE_MS = 3_000;
/**
 * What all of it may take, also without a grace: a slow disk takes its time for what hundreds of chats left.
 */
const LEAST_WHOLE_MS = 15_000;
/** What each part has at least, when others used up the time: the journal comes last. */
const LEAST_MS = 250;

export interface Closing {
  readonly stop: () => Promise<void>;
  /** Closed in reverse, each also when closing another one failed. */
  readonly parts: Readonly<Record<string, AsyncDisposable>>;
  /** For `stop`. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Stops the work, then closes the parts. One that does not end in time is logged (GH1006) and left behind:
 * what it has not finished is in the journal, and goes on at the next start. Rejects as the parts do.
 */
export async function closeParts({ stop, parts, graceMs, clock, logger }: Closing): Promise<void> {
  const end = clock.monotonic() + Math.max(graceMs + CLOSE_MS, LEAST_WHOLE_MS);
  const inTime = async (part: string, close: () => PromiseLike<void>): Promise<void> => {
    const ms = Math.max(LEAST_MS, end - clock.monotonic());
    try {
      await withDeadline({ clock, ms, signal: new AbortController().signal }, async () => await close());
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      logger.error('close.late', { part, code: 'GH1006', detail: `left behind after ${ms} ms`, hint: ERROR_CODES.GH1006.hint });
    }
  };
  await using stack = new AsyncDisposableStack();
  for (const [name, part] of Object.entries(parts)) stack.defer(() => inTime(name, () => part[Symbol.asyncDispose]()));
  await inTime('turns', stop);
}

/**
 * What begins work by itself is told to end before the turns are. The turns are told at once, because an
 * erasure may wait for one of them. Resolves when all of it ended; rejects then with the first failure.
 */
export async function stopWork(first: readonly AsyncDisposable[], stop: () => Promise<void>): Promise<void> {
  const ends = await Promise.allSettled([...first.map((one) => one[Symbol.asyncDispose]()), stop()]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

export interface CloseLimits {
  readonly turnsMs: number;
  readonly deliveryMs: number;
}

/** Safe to call again: the first call decides the limits. */
export function closedOnce(close: (limits: CloseLimits) => Promise<void>): (limits?: CloseLimits) => Promise<void> {
  let closing: Promise<void> | undefined;
  return (limits = { turnsMs: 5_000, deliveryMs: 10_000 }) => {
    closing ??= close(limits);
    return closing;
  };
}
