import type { Clock } from '../core/ports.ts';
import { LONGEST_TIMER_MS, systemClock } from './clock.ts';
import { NO_LONGER_NEEDED } from './no-longer-needed.ts';

/**
 * Calls `run` once after `ms`, unless what is returned was called before; to call that later does no harm.
 * For limits that are nearly never reached: a message's way sets about ten, and a sleep that is given up
 * costs a promise, a signal and an event more than a timer that is cleared. `run` must not throw.
 *
 * @example
 * const stop = startTimer(clock, 60_000, () => calling.abort(new Error('time limit')));
 */
export function startTimer(clock: Pick<Clock, 'sleep'>, ms: number, run: () => void): () => void {
  // A clock of tests, or a longer time, is waited for by its own means.
  if (clock.sleep === systemClock.sleep && ms <= LONGEST_TIMER_MS) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  }
  const stopped = new AbortController();
  const over = (): void => {
    if (!stopped.signal.aborted) run();
  };
  clock.sleep(ms, stopped.signal).then(over, () => undefined);
  return () => stopped.abort(NO_LONGER_NEEDED);
}
