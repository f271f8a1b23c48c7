import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';

export interface Deadline extends AsyncDisposable {
  /** Aborts when the time is over. */
  readonly signal: AbortSignal;
}

/** The wall clock of one run. Disposing stops the timer; the signal then never aborts. */
export function startDeadline(ms: number, clock: Clock): Deadline {
  const over = new AbortController();
  const stopped = new AbortController();
  const timer = clock.sleep(ms, stopped.signal).then(
    () => over.abort(new Error('the turn reached its time limit')),
    () => undefined, // stopped in time
  );
  return {
    signal: over.signal,
    async [Symbol.asyncDispose]() {
      stopped.abort(NO_LONGER_NEEDED);
      await timer;
    },
  };
}
