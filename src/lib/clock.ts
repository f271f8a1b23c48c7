import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/ports.ts';

/** Wall clock, monotonic clock and timers of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    try {
      await sleep(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      // timers/promises rejects with its own AbortError; callers are promised the signal's reason.
      if (signal?.aborted) throw signal.reason;
      throw error;
    }
  },
};
