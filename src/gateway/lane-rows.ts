import { type InboundBus, type QueuedRow, queuedRow } from '../bus/inbound-bus.ts';
import type { Clock } from '../core/ports.ts';
import type { Runs } from '../core/runs.ts';
import { RETRY_BASE_MS } from '../runs/finish.ts';

interface Waiting {
  readonly row: QueuedRow;
  /** Takes up a place on the bus until it is taken. */
  readonly onBus: boolean;
}

export interface LaneRowsOptions {
  readonly journal: Pick<Runs, 'waiting'>;
  readonly bus: Pick<InboundBus, 'release'>;
  readonly clock: Clock;
}

/**
 * The rows of one lane that wait for their turn, in order: those that came over the bus, then the journal's.
 */
export class LaneRows {
  readonly #key: string;
  readonly #options: LaneRowsOptions;
  #rows: Waiting[] = [];
  /** The journal holds rows that are not in `#rows`: fetch when these are used up. */
  #behind = false;
  /**
   * The next fetch looks behind this row; from the beginning again after news, because a dead letter that is
   * replayed is older.
   */
  #look = { after: 0 };
  #fetching = false;

  constructor(key: string, options: LaneRowsOptions) {
    this.#key = key;
    this.#options = options;
  }

  /** How many are at hand. */
  get depth(): number {
    return this.#rows.length;
  }

  /** Whether a row is at hand, or the journal may have one. */
  get hasMore(): boolean {
    return this.#rows.length > 0 || this.#behind;
  }

  /** A row that came over the bus; undefined = the journal may have one. */
  add(row: QueuedRow | undefined): void {
    // Once a lane fell behind, later rows must not overtake those in the journal: they are fetched in order
    // with them.
    if (row && !this.#behind && !this.#fetching) this.#rows.push({ row, onBus: true });
    else {
      if (row) this.#options.bus.release();
      this.#lookAnew();
    }
  }

  /** The next fetch looks at the journal from the beginning. */
  #lookAnew(): void {
    this.#behind = true;
    this.#look = { after: 0 };
  }

  /** The next row at hand. */
  take(): QueuedRow | undefined {
    const next = this.#rows.shift();
    if (next?.onBus) this.#options.bus.release();
    return next?.row;
  }

  /**
   * The next row from the journal, one at a time, when the lane fell behind. A journal that cannot be read is
   * asked again until it can, or the signal aborts.
   */
  async fetchNext(signal: AbortSignal): Promise<QueuedRow | undefined> {
    const { journal, clock } = this.#options;
    while (this.#behind && !signal.aborted) {
      this.#behind = false;
      this.#fetching = true;
      try {
        const look = this.#look;
        const [row] = await journal.waiting(this.#key, 1, look.after);
        if (row) {
          look.after = row.seq;
          this.#behind = true;
          this.#rows.push({ row: queuedRow(row), onBus: false });
        }
      } catch {
        this.#behind = true;
        await clock.sleep(RETRY_BASE_MS, signal).catch(() => undefined); // the loop looks at the signal
      } finally {
        this.#fetching = false;
      }
      const row = this.take();
      if (row) return row;
    }
    return this.take();
  }

  /** Forgets those at hand: the journal has them, and is looked at from the beginning. */
  clear(): void {
    this.#options.bus.release(this.#rows.filter((waiting) => waiting.onBus).length);
    this.#rows = [];
    this.#lookAnew();
  }
}
