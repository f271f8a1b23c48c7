import type { Clock } from '../../src/core/ports.ts';
import { NO_LONGER_NEEDED } from '../../src/lib/no-longer-needed.ts';

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
 * Runs `task` with a signal that aborts when `signal` does, or with a `DeadlineError` after `ms`. Rejects with that reason as
 * soon as the signal fires, even if `task` ignores it. Leaves no timer behind.
 */
export async function withDeadline<T>(
  options: { readonly clock: Clock; readonly ms: number; readonly signal: AbortSignal },
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, ms, signal } = options;
  signal.throwIfAborted();
  const timer = new AbortController();
  const combined = new AbortController();
  // The sleep ends early only because the task settled or the caller aborted: both need nothing more from it.
  const expired = clock.sleep(ms, timer.signal).then(
    () => combined.abort(new DeadlineError(ms)),
    () => undefined,
  );
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => combined.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  combined.signal.addEventListener('abort', () => reject(combined.signal.reason), { once: true });
  try {
    return await Promise.race([task(combined.signal), aborted]);
  } finally {
    // `signal` may be the daemon's, and would keep everything this call touched.
    signal.removeEventListener('abort', onAbort);
    timer.abort(NO_LONGER_NEEDED);
    await expired;
  }
}
