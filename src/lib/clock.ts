import type { Clock } from '../core/ports.ts';

/** Longest time a timer of Node takes; above it fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Wall clock, monotonic clock and timers of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => (ms <= LONGEST_TIMER_MS ? sleepOnce(ms, signal) : sleepLong(ms, signal)),
};

async function sleepLong(ms: number, signal: AbortSignal | undefined): Promise<void> {
  for (let left = ms; left > 0; left -= LONGEST_TIMER_MS) await sleepOnce(Math.min(left, LONGEST_TIMER_MS), signal);
}

/**
 * Not timers/promises: a message's way ends about ten sleeps early, and that one makes an error with a stack
 * trace for each, which would be thrown away here because callers are promised the signal's own reason.
 */
function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
