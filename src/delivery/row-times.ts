import type { OutboxRow } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';

/**
 * A wait read from a row was begun by an earlier process, on a clock that may have been set since: no longer
 * than this.
 */
const LONGEST_WAIT_MS = 3_600_000;

interface Times {
  /** As the row states it: another value is another wait. */
  readonly notBefore: number;
  /** Monotonic. */
  readonly readyAt: number;
  readonly expiresAt: number;
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

  /** The row left the outbox. */
  forget(seq: number): void {
    this.#known.delete(seq);
  }

  #times(row: OutboxRow): Times {
    const known = this.#known.get(row.seq);
    if (known?.notBefore === row.notBefore) return known;
    const [now, monotonic] = [this.#clock.now(), this.#clock.monotonic()];
    const times = {
      notBefore: row.notBefore,
      readyAt: monotonic + Math.min(row.notBefore - now, LONGEST_WAIT_MS),
      expiresAt: known?.expiresAt ?? monotonic + row.expiresAt - now,
    };
    this.#known.set(row.seq, times);
    return times;
  }
}
