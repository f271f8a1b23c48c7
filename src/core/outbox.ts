/**
 * What is to be sent: PENDING -> SENDING -> SENT | UNKNOWN | DEAD | EXPIRED. When its methods resolve and how
 * they reject is said in `journal.ts`.
 */
import type { OutboundPart } from './message.ts';

export type OutboxState = 'PENDING' | 'SENDING' | 'SENT' | 'UNKNOWN' | 'DEAD' | 'EXPIRED';

/** A part before the journal gave it a row; `lane` orders delivery. */
export interface NewPart {
  readonly part: OutboundPart;
  readonly lane: string;
  /** Epoch ms after which it is EXPIRED instead of sent. */
  readonly expiresAt: number;
  /** Of an answer in a topic of its chat. Absent: it is sent whatever topic is active there. */
  readonly topic?: TopicOutput;
  /**
   * The same news for another chat: added in the transaction in which this one comes to be DEAD, or too old
   * to be sent. Absent = it is told nowhere else.
   */
  readonly otherwise?: readonly NewPart[];
}

/** Parts of one topic that may be held; see `HELD_FULL`. */
export const MOST_HELD = 50;

/**
 * The reason of a part, and of its event, that came when so much of its topic was held already. It is
 * EXPIRED.
 */
export const HELD_FULL = 'topic not active and its buffer full';

/** The reason of a part, and of its event, that was held when its topic was deleted. It is EXPIRED. */
export const TOPIC_DELETED = 'topic deleted';

/**
 * What becomes of a part whose topic is not the active one of its chat when it is written: it is held until
 * a person goes back to the topic, and nothing of it is shown until then.
 */
export interface TopicOutput {
  /** '' = the chat itself. */
  readonly name: string;
  /** Sent in place of the first part that is held. */
  readonly notice: NewPart;
  /**
   * Added to the newest part that is held, once a further one is not; behind a file it is a message of its
   * own.
   */
  readonly full: string;
}

export interface OutboxRow extends NewPart {
  readonly seq: number;
  readonly createdAt: number;
  readonly state: OutboxState;
  readonly attempts: number;
  /**
   * Epoch ms: when the oldest attempt began in which the part may have arrived; absent = it surely did not.
   * An attempt counts from its `sending` on, so that a killed process leaves a doubt, until a `retry` says
   * otherwise.
   */
  readonly doubtSince?: number;
  readonly notBefore: number;
  /** Delivery already fell back to plain text once. */
  readonly plain: boolean;
}

/** A part and what became of it. */
export interface StoredPart extends OutboxRow {
  /** Of a SENT part, as the adapter named it. */
  readonly platformId?: string;
  /**
   * Key of the part that took its place, or was to: that one may be on its way, or never have arrived. See
   * its state.
   */
  readonly replacedBy?: string;
}

/** Begins the reason of a retry that waits for the operator: the platform refuses the login. */
export const LOGIN_REFUSED = 'auth:';

export function isLoginRefused(reason: string): boolean {
  return reason.startsWith(LOGIN_REFUSED);
}

/** The reason in the event of a part whose time was over. */
export const TOO_OLD = 'too old to be sent';

/** The reason of a part, and of its event, whose reader was shut out before it was sent. It is EXPIRED. */
export const WITHDRAWN = 'withdrawn';

/** The reason in the event of an EXPIRED part. It may be EXPIRED early, because something newer is there. */
export function expiryReason({ isOld }: { readonly isOld?: true }): string {
  return isOld ? TOO_OLD : 'not needed any more';
}

export type Settlement =
  /**
   * `replaces`: the row with that key says from now on that this part took its place, whatever was to do so
   * meanwhile.
   */
  | { readonly kind: 'sent'; readonly platformId: string; readonly replaces?: string }
  /**
   * `doubtSince`: as in the row from now on; absent = no attempt so far can have arrived. `uncounted`: that
   * attempt does not count. `asNew`: the part loses its `edits`, and its attempts are counted from 0.
   */
  | {
      readonly kind: 'retry';
      readonly notBefore: number;
      readonly reason: string;
      readonly doubtSince?: number;
      readonly plain?: boolean;
      readonly uncounted?: boolean;
      readonly asNew?: boolean;
    }
  | { readonly kind: 'unknown'; readonly reason: string }
  | { readonly kind: 'dead'; readonly reason: string }
  /** `isOld`: its time is over, whatever the wall clock shows; else something newer took its place. */
  | { readonly kind: 'expired'; readonly isOld?: true };

export interface Outbox {
  /**
   * Parts without a turn: a notice of ours. Behind what their lanes hold already. A key that was enqueued
   * before is the same part, whatever became of it, and is skipped; rows that are done are forgotten after
   * days, so a key may not come back later than that. Here as in every method that adds parts, the row that
   * one `supersedes` says at once that it is replaced.
   */
  enqueue(parts: readonly NewPart[]): Promise<void>;
  /**
   * The part with this key, in whatever state; undefined when there never was one, or it was forgotten after
   * days.
   */
  part(key: string): Promise<StoredPart | undefined>;
  /**
   * How many messages for this reader, as `SentFor.readers` names them, were added since (epoch ms), in
   * whatever state they are. Rows that are done count for days.
   */
  sentFor(reader: string, since: number): Promise<number>;
  /**
   * What was written to the chat of this `chatKey` on the wish of others (`SentFor`), and may have arrived.
   * Rows that are done are forgotten after days.
   */
  relayed(chat: string): Promise<readonly Pick<StoredPart, 'part' | 'platformId'>[]>;
  /**
   * Names of the copies of files in `outgoing/` that an answer may still carry: those of parts that wait, are
   * on their way or can be sent once more, and those of runs that are not over or can be run once more. Reads
   * all such rows: for a start, not for the way of a message.
   */
  filesInUse(): Promise<ReadonlySet<string>>;
  /**
   * PENDING rows of a delivery lane, oldest first, whether due or not (the caller waits for `notBefore`:
   * order is kept).
   */
  pending(lane: string, limit: number): Promise<readonly OutboxRow[]>;
  /**
   * Commit 5: PENDING -> SENDING, attempts + 1, in doubt from now on unless it was before. `false` when it is
   * no longer PENDING.
   */
  sending(seq: number): Promise<boolean>;
  /** Commit 6. `retry` is for failures proven before dispatch only. */
  settle(seq: number, settlement: Settlement): Promise<void>;
}
