import type { Clock } from '../core/ports.ts';
import { startTimer } from './timer.ts';

/**
 * How long after an abort a model or a tool may still end by itself. A shell's TERM, 500 ms, KILL fits in
 * (spec G1). ms.
 */
export const ABORT_GRACE_MS = 2_000;

/**
 * Waits for work that is supposed to end soon after `signal` aborts. Work that does not is left behind,
 * so that it cannot hold its lane (reliability.md F30); whatever it comes to later is ignored. Rejects as
 * the work does.
 */
export async function settleOrLeave<T>(
  work: Promise<T>,
  signal: AbortSignal,
  clock: Clock,
): Promise<{ readonly value: T } | 'left'> {
  const { promise: left, resolve: leave } = Promise.withResolvers<'left'>();
  let stop: (() => void) | undefined;
  const onAbort = (): void => {
    stop = startTimer(clock, ABORT_GRACE_MS, () => leave('left'));
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work.then((value) => ({ value })), left]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop?.();
  }
}
