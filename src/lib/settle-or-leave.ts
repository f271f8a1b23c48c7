import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from './no-longer-needed.ts';

/** How long after an abort a model or a tool may still end by itself. A shell's TERM, 500 ms, KILL fits in (spec G1). ms. */
export const ABORT_GRACE_MS = 2_000;

/**
 * Waits for work that is supposed to end soon after `signal` aborts. Work that does not is left behind, so that it cannot hold
 * its lane (reliability.md F30); whatever it comes to later is ignored. Rejects as the work does.
 */
export async function settleOrLeave<T>(
  work: Promise<T>,
  signal: AbortSignal,
  clock: Clock,
): Promise<{ readonly value: T } | 'left'> {
  const settled = new AbortController();
  try {
    return await Promise.race([work.then((value) => ({ value })), graceOver(signal, settled.signal, clock)]);
  } finally {
    settled.abort(NO_LONGER_NEEDED);
  }
}

async function graceOver(signal: AbortSignal, settled: AbortSignal, clock: Clock): Promise<'left'> {
  if (!signal.aborted) {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true, signal: settled }));
  }
  try {
    await clock.sleep(ABORT_GRACE_MS, settled);
  } catch {
    // The work settled first: the race is over and this result is not read.
  }
  return 'left';
}
