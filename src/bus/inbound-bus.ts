import type { InboxRow } from '../core/inbox.ts';

/**
 * The mailbox between channels and lanes: accepted rows that wait in memory. It holds at most `capacity` rows; when it is full
 * `publish` says so and the row stays where it already is, in the journal, until its lane has room to fetch it. So a burst
 * costs bounded memory and never holds up an acknowledgement.
 */
export class InboundBus {
  readonly capacity: number;
  #held = 0;
  #subscriber: (row: InboxRow | undefined, lane: string) => void = () => undefined;

  constructor(capacity = 256) {
    if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError(`capacity must be a positive integer, got ${capacity}`);
    this.capacity = capacity;
  }

  /** Rows handed out and not yet taken back by `release`. */
  get held(): number {
    return this.#held;
  }

  /** One subscriber: the lanes. A full bus passes `undefined` for the row: only the news that the lane has work. */
  subscribe(subscriber: (row: InboxRow | undefined, lane: string) => void): void {
    this.#subscriber = subscriber;
  }

  publish(row: InboxRow): void {
    if (this.#held >= this.capacity) {
      this.#subscriber(undefined, row.lane);
      return;
    }
    this.#held += 1;
    this.#subscriber(row, row.lane);
  }

  /** The subscriber took `count` rows out of memory: began their turn, or dropped them for the journal to keep. */
  release(count = 1): void {
    this.#held = Math.max(0, this.#held - count);
  }
}
