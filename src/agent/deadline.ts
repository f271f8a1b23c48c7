import type { Clock } from '../core/ports.ts';
import type { RunLimits } from '../core/turn.ts';
import { startTimer } from '../lib/timer.ts';

export interface Deadline extends Disposable {
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
  const start = (ms: number, limit: 'time' | 'step') =>
    startTimer(clock, ms, () => {
      over ??= limit;
      reached.abort(new Error('the turn reached its time limit'));
    });
  const stopRun = start(wallClockMs, 'time');
  let stopStep: ReturnType<typeof start> | undefined;
  return {
    signal: reached.signal,
    get over() {
      return over;
    },
    step() {
      if (stepMs === undefined) return;
      stopStep?.();
      stopStep = start(stepMs, 'step');
    },
    [Symbol.dispose]() {
      stopRun();
      stopStep?.();
    },
  };
}
