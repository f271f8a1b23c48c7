export interface Backoff {
  /** Nominal wait after the first failure, doubled with each one up to `capMs`. */
  readonly baseMs: number;
  readonly capMs: number;
  /** 0 <= x < 1. */
  readonly random: () => number;
}

/**
 * How long to wait before the next try, ms. `failures`: how many there were before the last one. At least
 * half of the nominal wait; the rest is drawn, so that many who failed together do not come back together.
 */
export function backoffMs(failures: number, { baseMs, capMs, random }: Backoff): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** failures);
  return Math.round(ceiling / 2 + random() * (ceiling / 2));
}
