import type { Clock } from '../../src/core/ports.ts';
import { startTimer } from '../../src/lib/timer.ts';

/** For one call: long enough for a slow network, short enough that a start does not hang on a silent one. */
export const CALL_TIMEOUT_MS = 20_000;

/** What `withDeadline` aborts with when time ran out; tells a time-out from the caller's own abort. */
export class DeadlineError extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'DeadlineError';
  }
}

/**
 * Runs `task` with a signal that aborts when `signal` does, or with a `DeadlineError` after `ms`. Rejects
 * with that reason as soon as the signal fires, even if `task` ignores it. Leaves no timer behind.
 */
export async function withDeadline<T>(
  options: { readonly clock: Clock; readonly ms: number; readonly signal: AbortSignal },
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, ms, signal } = options;
  signal.throwIfAborted();
  const combined = new AbortController();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (reason: unknown): void => {
    combined.abort(reason);
    reject(reason);
  };
  const onAbort = (): void => abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const stop = startTimer(clock, ms, () => abort(new DeadlineError(ms)));
  try {
    return await Promise.race([task(combined.signal), aborted]);
  } finally {
    // `signal` may be the daemon's, and would keep everything this call touched.
    signal.removeEventListener('abort', onAbort);
    stop();
  }
}
