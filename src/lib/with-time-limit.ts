import type { Clock } from '../core/ports.ts';
import { linkedSignal } from './linked-signal.ts';
import { startTimer } from './timer.ts';

/** A call past its time limit has this long to say what it knows: an unopened connection is no mystery. */
const AFTER_ABORT_MS = 1_000;

/**
 * Undefined when `call` did not answer in time, a moment of grace after its signal was aborted included.
 * `call` must not reject.
 */
export async function withTimeLimit<T>(
  call: (signal: AbortSignal) => Promise<T>,
  timeoutMs: number,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T | undefined> {
  // A call may leave a listener on the signal it is given, and `signal` may live as long as the process.
  using calling = linkedSignal(signal);
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  let stop: (() => void) | undefined;
  const grace = (): void => {
    stop?.();
    stop = startTimer(clock, AFTER_ABORT_MS, () => resolve(undefined));
  };
  // However it is aborted, the call may still say what it knows.
  calling.signal.addEventListener('abort', grace, { once: true });
  if (calling.signal.aborted) grace();
  else stop = startTimer(clock, timeoutMs, () => calling.abort(new Error('time limit')));
  try {
    return await Promise.race([call(calling.signal), over]);
  } finally {
    calling.signal.removeEventListener('abort', grace);
    stop?.();
  }
}
