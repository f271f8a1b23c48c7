import type { Role } from '../core/authority.ts';
import { isBackground } from '../core/awaited.ts';
import { principalOf } from '../core/ids.ts';
import type { Profile } from '../core/new-run.ts';
import { channelOf, type RunRow } from '../core/run.ts';

/**
 * What memory holds of a row that waits: enough to stand in a queue. Its message stays in the journal until
 * the row is claimed, so that what waits costs the same however long its messages are.
 */
export interface QueuedRow {
  readonly seq: number;
  readonly lane: string;
  readonly session: string;
  readonly profile: Profile;
  readonly attempts: number;
  readonly messageId: string;
  readonly channel: string;
  readonly senderId: string;
  readonly role: Role;
  readonly isBackground: boolean;
  /** A queue mode may join it with others: a plain message of a person whose turn has not begun. */
  readonly isPlain: boolean;
}

export function queuedRow(row: RunRow): QueuedRow {
  const { seq, lane, session, profile, attempts, key: messageId, message, authority } = row;
  const channel = channelOf(row);
  const senderId = message?.senderId ?? idOn(channel, authority.principal);
  const isPlain = message?.kind === 'message' && row.generation === 0;
  const of = { messageId, channel, senderId, role: authority.role };
  return { seq, lane, session, profile, attempts, ...of, isBackground: isBackground(row), isPlain };
}

/** What a job of a person does counts as their turns, as what they write there. */
function idOn(channel: string, principal: string): string {
  const own = principalOf({ channel, senderId: '' });
  return principal.startsWith(own) ? principal.slice(own.length) : principal;
}

/**
 * The mailbox between channels and lanes: accepted rows that wait. It holds the places of at most `capacity`
 * rows; when it is full `publish` says so, and the lane looks for the row in the journal when its turn has
 * come. So a burst costs bounded memory and never holds up an acknowledgement.
 */
export class InboundBus {
  readonly capacity: number;
  #held = 0;
  #subscriber: (row: QueuedRow | undefined, lane: string) => void = () => undefined;

  constructor(capacity = 256) {
    if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError(`capacity must be a positive integer, got ${capacity}`);
    this.capacity = capacity;
  }

  /** Rows handed out and not yet taken back by `release`. */
  get held(): number {
    return this.#held;
  }

  /**
   * One subscriber: the lanes. A full bus passes `undefined` for the row: only the news that the lane has
   * work.
   */
  subscribe(subscriber: (row: QueuedRow | undefined, lane: string) => void): void {
    this.#subscriber = subscriber;
  }

  publish(row: RunRow): void {
    if (this.#held >= this.capacity) {
      this.#subscriber(undefined, row.lane);
      return;
    }
    this.#held += 1;
    this.#subscriber(queuedRow(row), row.lane);
  }

  /**
   * The subscriber took `count` rows out of memory: began their turn, or dropped them for the journal to
   * keep.
   */
  release(count = 1): void {
    this.#held = Math.max(0, this.#held - count);
  }
}
