import type { Clock } from '../core/ports.ts';
import type { RunLimits } from '../core/turn.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';

export interface Deadline extends AsyncDisposable {
  /** Aborts for good when the time of the run or of its present step is over. */
  readonly signal: AbortSignal;
  /** Which of the two it was; undefined = neither. */
  readonly over: 'time' | 'step' | undefined;
  /** The next step begins: its time counts from now. */
  step(): void;
}

/** The clocks of one run. Disposing stops them; the signal then never aborts. */
export function startDeadline({ wallClockMs, stepMs }: RunLimits, clock: Clock): Deadline {
  const reached = new AbortController();
  let over: Deadline['over'];
  const start = (ms: number, limit: 'time' | 'step') => {
    const stopped = new AbortController();
    const timer = clock.sleep(ms, stopped.signal).then(
      () => {
        over ??= limit;
        reached.abort(new Error('the turn reached its time limit'));
      },
      () => undefined, // stopped in time
    );
    return { stop: () => stopped.abort(NO_LONGER_NEEDED), timer };
  };
  const run = start(wallClockMs, 'time');
  let step: ReturnType<typeof start> | undefined;
  return {
    signal: reached.signal,
    get over() {
      return over;
    },
    step() {
      if (stepMs === undefined) return;
      step?.stop();
      step = start(stepMs, 'step');
    },
    async [Symbol.asyncDispose]() {
      run.stop();
      step?.stop();
      await Promise.all([run.timer, step?.timer]);
    },
  };
}
