import type { OutboxRow } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';

/**
 * A wait read from a row was begun by an earlier process, on a clock that may have been set since: no longer
 * than this.
 */
const LONGEST_WAIT_MS = 3_600_000;
/** By how much a clock that is being corrected slowly may go back. */
const SLEWED_MS = 1_000;

interface Times {
  /** As the row states it: another value is another wait. */
  readonly notBefore: number;
  readonly doubtSince: number | undefined;
  /** Monotonic. */
  readonly readyAt: number;
  readonly expiresAt: number;
  /** -Infinity = unknown: the clock that told it was set back since. */
  readonly doubtAt: number;
}

/**
 * Rows state wall-clock times, because those outlive the process. From the first look at a row they are
 * followed on the monotonic clock: setting the clock neither delays a retry for a year nor expires an answer
 * (F22).
 */
export class RowTimes {
  readonly #clock: Clock;
  readonly #known = new Map<number, Times>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ms until the row may be sent, by its own word; 0 or less = now. */
  waitMs(row: OutboxRow): number {
    return this.#times(row).readyAt - this.#clock.monotonic();
  }

  /** Ms until the row expires; 0 or less = it has. */
  leftMs(row: OutboxRow): number {
    return this.#times(row).expiresAt - this.#clock.monotonic();
  }

  /**
   * Ms since the first attempt that may have arrived; undefined = none may. By the clock that says more: the
   * wall clock may be behind, as after a power failure, and the monotonic one stands still while the machine
   * sleeps. Infinity where the clock shows an earlier time than that of the attempt.
   */
  doubtMs(row: OutboxRow): number | undefined {
    if (row.doubtSince === undefined) return undefined;
    return Math.max(this.#clock.monotonic() - this.#times(row).doubtAt, this.#clock.now() - row.doubtSince);
  }

  /** The row left the outbox. */
  forget(seq: number): void {
    this.#known.delete(seq);
  }

  #times(row: OutboxRow): Times {
    const known = this.#known.get(row.seq);
    const isSameDoubt = known?.doubtSince === row.doubtSince;
    if (known?.notBefore === row.notBefore && isSameDoubt) return known;
    const [now, monotonic] = [this.#clock.now(), this.#clock.monotonic()];
    const inDoubtMs = now - (row.doubtSince ?? now);
    const doubtAt = inDoubtMs < -SLEWED_MS ? Number.NEGATIVE_INFINITY : monotonic - inDoubtMs;
    const times = {
      notBefore: row.notBefore,
      doubtSince: row.doubtSince,
      doubtAt: known && isSameDoubt ? known.doubtAt : doubtAt,
      readyAt: monotonic + Math.min(row.notBefore - now, LONGEST_WAIT_MS),
      expiresAt: known?.expiresAt ?? monotonic + row.expiresAt - now,
    };
    this.#known.set(row.seq, times);
    return times;
  }
}
