import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from './no-longer-needed.ts';

export interface TimeLimit extends Disposable {
  readonly signal: AbortSignal;
  /** Ends the work before its time. */
  abort(reason: unknown): void;
}

/**
 * A signal that aborts with `parent`, or with `expired()` after `ms`. Dispose it when the work has settled:
 * that ends the timer, removes the listener from `parent`, and aborts the signal.
 */
export function timeLimit(clock: Clock, ms: number, expired: () => unknown, parent?: AbortSignal): TimeLimit {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(parent?.reason);
  parent?.addEventListener('abort', onAbort, { once: true });
  if (parent?.aborted) onAbort();
  clock.sleep(ms, controller.signal).then(
    () => controller.abort(expired()),
    () => undefined, // the work was quicker
  );
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => {
      parent?.removeEventListener('abort', onAbort);
      controller.abort(NO_LONGER_NEEDED);
    },
  };
}

/**
 * Settles as `work` does, or rejects with `signal.reason` once it aborts; the work itself goes on. Leaves no
 * listener.
 */
export function settledOrAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
