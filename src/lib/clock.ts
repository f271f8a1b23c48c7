import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/ports.ts';

/** Longest time a timer of Node takes; above it fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Wall clock, monotonic clock and timers of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    try {
      for (let left = ms; ; left -= LONGEST_TIMER_MS) {
        await sleep(Math.min(left, LONGEST_TIMER_MS), undefined, signal ? { signal } : {});
        if (left <= LONGEST_TIMER_MS) return;
      }
    } catch (error) {
      // timers/promises rejects with its own AbortError; callers are promised the signal's reason.
      if (signal?.aborted) throw signal.reason;
      throw error;
    }
  },
};
