import type { Clock } from '../../src/core/ports.ts';

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
  const deadline = new AbortController();
  // The sleep ends early only because the task settled or the caller aborted: both need nothing more from it.
  const expired = clock.sleep(ms, AbortSignal.any([signal, timer.signal])).then(
    () => deadline.abort(new DeadlineError(ms)),
    () => undefined,
  );
  const combined = AbortSignal.any([signal, deadline.signal]);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(combined.reason);
  combined.addEventListener('abort', onAbort);
  try {
    return await Promise.race([task(combined), aborted]);
  } finally {
    // A combined signal with a listener lives as long as `signal`, which may be the daemon's.
    combined.removeEventListener('abort', onAbort);
    timer.abort();
    await expired;
  }
}
