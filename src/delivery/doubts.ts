import type { Channel, SendResult } from '../core/channel.ts';
import type { OutboxRow } from '../core/journal.ts';
import type { Clock } from '../core/ports.ts';

/**
 * Class `idem` on a platform that forgets keys (reliability.md 1.2): since when a part may have arrived. Within the window the same
 * key is sent again, and beyond it nobody can know.
 */
export class Doubts {
  readonly #clock: Clock;
  /** By row: epoch ms of the oldest attempt in doubt; undefined once this process tried it and all attempts were proven. */
  readonly #since = new Map<number, number | undefined>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether sending again could be seen twice. Call it before each attempt. */
  tooOld(row: OutboxRow, channel: Channel): boolean {
    const { sendClass, idemWindowMs } = channel;
    if (sendClass !== 'idem' || idemWindowMs === undefined) return false;
    // Of attempts of an earlier boot only the number is known; none of them began before the part was made.
    if (row.attempts > 0 && !this.#since.has(row.seq)) this.#since.set(row.seq, row.createdAt);
    const since = this.#since.get(row.seq);
    return since !== undefined && this.#clock.now() - since > idemWindowMs;
  }

  /** `startedAt`: epoch ms before the attempt. */
  note(row: OutboxRow, result: SendResult, startedAt: number): void {
    const doubt = result.kind === 'unknown' ? startedAt : undefined;
    this.#since.set(row.seq, this.#since.get(row.seq) ?? doubt);
  }

  /** The row left the outbox. */
  forget(seq: number): void {
    this.#since.delete(seq);
  }
}
