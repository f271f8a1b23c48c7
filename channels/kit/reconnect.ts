import type { Clock } from '../../src/core/ports.ts';
import { backoffMs } from '../../src/lib/backoff.ts';

/** A connection that lived shorter is no success: something breaks it (F33). ms. For `steadyMs`. */
export const STEADY_MS = 30_000;

export interface ReconnectOptions {
  /** One connection's life. Returning or throwing ends it; `connected()` resets the back-off. */
  readonly run: (connected: () => void) => Promise<void>;
  /**
   * Is called about each end before the wait. `false` stops for good: only the operator can mend it. A number
   * is ms to wait on top, for a platform that named a time.
   */
  readonly onEnd: (error: unknown, waitMs: number) => boolean | number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** First wait, doubled up to the cap; each is drawn between half and the whole. Defaults 1 s and 60 s. */
  readonly baseMs?: number;
  readonly capMs?: number;
  /**
   * A connection that lived shorter after `connected()` does not reset the back-off: something breaks it
   * (F33). Default 0: any resets it.
   */
  readonly steadyMs?: number;
}

/** Runs a connection again and again until the signal aborts or `onEnd` gives up. Never rejects. */
export async function reconnect(options: ReconnectOptions): Promise<void> {
  const { run, onEnd, clock, random, signal, baseMs = 1_000, capMs = 60_000, steadyMs = 0 } = options;
  let failures = 0;
  while (!signal.aborted) {
    let error: unknown;
    let since: number | undefined;
    try {
      await run(() => {
        since ??= clock.monotonic();
        if (steadyMs === 0) failures = 0;
      });
    } catch (thrown) {
      error = thrown;
    }
    if (since !== undefined && clock.monotonic() - since >= steadyMs) failures = 0;
    if (signal.aborted) return;
    const waitMs = backoffMs(failures, { baseMs, capMs, random });
    failures += 1;
    const again = onEnd(error, waitMs);
    if (again === false) return;
    try {
      await clock.sleep(waitMs + (again === true ? 0 : again), signal);
    } catch {
      return; // the sleep ends early only because the signal aborted
    }
  }
}
