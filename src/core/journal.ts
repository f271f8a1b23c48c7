/**
 * The journal: everything in flight, on disk (design.md 3). States and sync points are the contract; SQLite is one way to keep it.
 *
 * inbox  NEW -> RUNNING -> DONE | DEAD | (REFUSED: a counter only)      step  STARTED -> DONE | UNKNOWN
 * outbox PENDING -> SENDING -> SENT | UNKNOWN | DEAD | EXPIRED
 *
 * A write method resolves once its transaction is synced to disk, and rejects with a `GatehouseError` when it did not happen:
 * GH1301 the disk is full or read-only (nothing was written; try later), GH1302 the file can no longer be trusted (stop the
 * process). Writes asked for in one tick of the event loop share a transaction; each is still all or nothing on its own.
 */
import type { InboundMessage, Json, OutboundPart, RefusalReason } from './message.ts';
import type { SessionMessage } from './session.ts';

export type InboxState = 'NEW' | 'RUNNING' | 'DONE' | 'DEAD';
export type OutboxState = 'PENDING' | 'SENDING' | 'SENT' | 'UNKNOWN' | 'DEAD' | 'EXPIRED';

/** What admit decided about one inbound message, in the order received. */
export type Admission =
  /**
   * Becomes a NEW row of its lane. An edit or delete of what is still NEW changes that row instead (see `accept`).
   * `onlyCorrects`: an edit that is refused with this reason unless what it corrects was taken up, or is about to be.
   */
  | {
      readonly kind: 'admit';
      readonly message: InboundMessage;
      readonly lane: string;
      readonly session: string;
      readonly onlyCorrects?: RefusalReason;
    }
  /**
   * Recorded as DONE at once with this answer: commands, pairing codes, abort words. Not run, still answered exactly once.
   * `cancels`: in the same transaction every NEW and RUNNING row of the lane, or of all lanes of its chat (in a group: those in which
   * its sender has one), becomes DONE with outcome `cancelled`, and running claims are fenced, so that what was said to be cancelled cannot answer after a crash either. When there
   * was no such row, `partsIfIdle` go to the same lanes in place of `parts`. `stoppedMark` is set below what an earlier attempt
   * showed of an answer whose row is NEW; a RUNNING one's turn does so itself.
   */
  | {
      readonly kind: 'answer';
      readonly message: InboundMessage;
      readonly lane: string;
      readonly session: string;
      readonly outcome: string;
      readonly parts: readonly NewPart[];
      readonly cancels?: 'lane' | 'chat';
      readonly partsIfIdle?: readonly NewPart[];
      readonly stoppedMark?: string;
    }
  /** No row, no content: only (channel, reason) is counted. */
  | { readonly kind: 'refuse'; readonly message: InboundMessage; readonly reason: RefusalReason };

export type Accepted =
  | { readonly kind: 'new'; readonly row: InboxRow }
  /** `cancelled`: the lanes in which rows were, whose turns are to be told and whose outbox may have something new. */
  | { readonly kind: 'answered'; readonly cancelled: readonly string[] }
  /** Changed or cancelled a row that had not begun. */
  | { readonly kind: 'amended'; readonly row: number }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'refused' };

export interface InboxRow {
  /** Ascending in order of acceptance. */
  readonly seq: number;
  readonly lane: string;
  readonly session: string;
  readonly message: InboundMessage;
  /** How many times a turn began on it, this one included. */
  readonly attempts: number;
  readonly acceptedAt: number;
  /** Fencing token: every later write about this claim names it; a stale one is refused (`false`), never applied. */
  readonly generation: number;
}

/** A part before the journal gave it a row; `lane` orders delivery. */
export interface NewPart {
  readonly part: OutboundPart;
  readonly lane: string;
  /** Epoch ms after which it is EXPIRED instead of sent. */
  readonly expiresAt: number;
}

export interface OutboxRow extends NewPart {
  readonly seq: number;
  readonly createdAt: number;
  readonly state: OutboxState;
  readonly attempts: number;
  /**
   * Epoch ms: when the oldest attempt began in which the part may have arrived; absent = it surely did not. An attempt counts from its
   * `sending` on, so that a killed process leaves a doubt, until a `retry` says otherwise.
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
  /** Key of the part that took its place, or was to: that one may be on its way, or never have arrived. See its state. */
  readonly replacedBy?: string;
}

export interface StepRecord {
  readonly n: number;
  readonly kind: 'model' | 'tool';
  /** Model: the answer. Tool: `{callId, name, result?}`. */
  readonly state: 'STARTED' | 'DONE';
  readonly callId?: string;
  readonly argsHash?: string;
  readonly value?: Json;
}

export interface UsageEntry {
  /** Unique: the same call recorded twice is one row. */
  readonly id: string;
  readonly at: number;
  readonly provider: string;
  readonly model: string;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly tokensCached: number;
  /** Of `tokensIn`, written to a cache. Absent = none. */
  readonly tokensCacheWrite?: number;
  /** Of `tokensOut`, reasoning. Absent = not told. */
  readonly tokensReasoning?: number;
  /** USD; null = unknown price. */
  readonly costUsd: number | null;
  readonly session: string;
  readonly channel: string;
  readonly sender: string;
  readonly purpose: string;
  readonly job?: string;
}

/** What the ledger can be added up by. `model` is `provider/model`; `day` is cut at midnight of the asking process's time zone. */
export type SpendingGroupKey = 'day' | 'provider' | 'model' | 'channel' | 'session' | 'sender' | 'purpose' | 'job';

export interface SpendingQuery {
  /** Epoch ms, inclusive. */
  readonly since: number;
  /** Epoch ms, exclusive; absent = to the end. */
  readonly until?: number;
  readonly by: SpendingGroupKey;
}

export interface SpendingGroup {
  /** `2026-01-31` for a day, else the value itself. Calls outside of jobs are in no group of `job`. */
  readonly key: string;
  readonly calls: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly tokensCached: number;
  readonly tokensCacheWrite: number;
  /** USD of the calls whose price was known. */
  readonly costUsd: number;
  /** Calls whose price was unknown: in `calls` and tokens, not in `costUsd`. */
  readonly unpriced: number;
}

export interface TurnResult {
  readonly seq: number;
  readonly generation: number;
  /** DEAD keeps the payload for `dead replay`; a notice for the user travels in `parts`. */
  readonly state: 'DONE' | 'DEAD';
  /** Short and stable: `answered`, `cancelled`, `limit:iterations`, `failed:GH2103`. */
  readonly outcome: string;
  readonly lines: readonly SessionMessage[];
  readonly parts: readonly NewPart[];
}

/** Begins the reason of a retry that waits for the operator: the platform refuses the login. */
export const LOGIN_REFUSED = 'auth:';

/** Outcome of what was overheard and could not be listened to: nobody knows whether it addressed the agent. */
export const NOT_HEARD = 'not-heard';

export function isLoginRefused(reason: string): boolean {
  return reason.startsWith(LOGIN_REFUSED);
}

export type Settlement =
  /** `replaces`: the row with that key says from now on that this part took its place, whatever was to do so meanwhile. */
  | { readonly kind: 'sent'; readonly platformId: string; readonly replaces?: string }
  /**
   * `doubtSince`: as in the row from now on; absent = no attempt so far can have arrived. `uncounted`: that attempt does not count. `asNew`: the
   * part loses its `edits`, and its attempts are counted from 0.
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
  | { readonly kind: 'expired' };

export interface DeadLetter {
  /** `in-<seq>` or `out-<seq>`. */
  readonly id: string;
  readonly at: number;
  readonly channel: string;
  readonly chatId: string;
  readonly sender: string;
  readonly reason: string;
  readonly attempts: number;
  /** Whole payload as stored; only `show` prints it. */
  readonly payload: Json;
}

export interface Recovery {
  /** RUNNING rows of another boot, back to NEW (steps kept). */
  readonly resumed: number;
  /** Rows that had used up their attempts or age: DEAD now, one notice part each was queued by the caller's `notice`. */
  readonly buried: number;
  /** Such rows that were overheard, with no answer begun: DONE as `NOT_HEARD`, no notice. Their files are the caller's to remove. */
  readonly unheard: readonly InboxRow[];
  /** SENDING parts of another boot; the caller settles them by send class before channels start. */
  readonly sending: readonly OutboxRow[];
  /** Lanes with NEW rows, in order of their oldest row. */
  readonly lanes: readonly string[];
  /** Delivery lanes with PENDING rows. */
  readonly outboxLanes: readonly string[];
}

export interface JournalCounts {
  readonly inbox: Readonly<Record<InboxState, number>>;
  readonly outbox: Readonly<Record<OutboxState, number>>;
  /** Epoch ms of the oldest NEW row. */
  readonly oldestNewAt?: number;
  readonly refused: readonly { readonly channel: string; readonly reason: string; readonly count: number }[];
}

export interface Journal extends AsyncDisposable {
  /** Random per start, never a pid: claims of any other boot are ours to adopt. */
  readonly bootId: string;

  /**
   * Commit 1. In one transaction, in order: inbox rows (`ON CONFLICT DO NOTHING` on the dedup key and on the secondary key),
   * refusal counters, answers with their parts, and the cursor of (channel, account) when given. An admitted `edit`/`delete`
   * whose target row is still NEW replaces its text or ends it (`amended`), and so does one whose target has an earlier edit that is still NEW;
   * otherwise an edit is a row of its own and a delete is refused.
   * An edit that `onlyCorrects` is a row of its own only when the same person's message of the same chat is in its turn or was answered.
   * Rows beyond the high-water mark are the caller's to prevent: see `room`.
   */
  accept(
    batch: readonly Admission[],
    cursor?: { readonly channel: string; readonly account: string; readonly value: string },
  ): Promise<readonly Accepted[]>;
  /** NEW + RUNNING rows that may still be added before the high-water mark. Cheap; counts in memory. */
  room(): number;
  cursor(channel: string, account: string): Promise<string | undefined>;

  /** NEW rows of a lane that are due, oldest first, after `afterSeq`. Does not claim them. */
  waiting(lane: string, limit: number, afterSeq?: number): Promise<readonly InboxRow[]>;
  /** NEW -> RUNNING, attempts + 1, a new generation. Undefined when the row is no longer NEW (cancelled, merged, taken). */
  claim(seq: number): Promise<InboxRow | undefined>;
  /** RUNNING -> NEW without counting the attempt: shutdown parked the turn; `notBefore` delays a retry after a failure (which counts). */
  release(seq: number, generation: number, options?: { readonly notBefore?: number; readonly reason?: string }): Promise<boolean>;
  /** All NEW rows of the lane -> DONE with this outcome (`/stop` clears what waits). Returns how many. */
  cancelWaiting(lane: string, outcome: string): Promise<number>;

  /** Steps recorded by earlier attempts at this row, in order. */
  steps(seq: number): Promise<readonly StepRecord[]>;
  /** Commits 2 and 3. `false` = fenced: stop, someone else owns the row. A model step may carry its usage, written in the same transaction. */
  step(seq: number, generation: number, record: StepRecord, usage?: UsageEntry): Promise<boolean>;

  /** Commit 4: session lines + parts + final state, one transaction. `false` = fenced, nothing was written. */
  finish(result: TurnResult): Promise<boolean>;

  /** Session lines that the flusher has not put into their file yet, oldest first. */
  unflushed(
    limit: number,
  ): Promise<
    readonly { readonly session: string; readonly lines: readonly { readonly seq: number; readonly line: SessionMessage }[] }[]
  >;
  flushed(seqs: readonly number[]): Promise<void>;

  /**
   * Parts without a turn: a notice of ours. Behind what their lanes hold already. A key that was enqueued before is the same part,
   * whatever became of it, and is skipped; rows that are done are forgotten after days, so a key may not come back later than that.
   * Here as in every method that adds parts, the row that one `supersedes` says at once that it is replaced.
   */
  enqueue(parts: readonly NewPart[]): Promise<void>;
  /** The part with this key, in whatever state; undefined when there never was one, or it was forgotten after days. */
  part(key: string): Promise<StoredPart | undefined>;
  /** PENDING rows of a delivery lane, oldest first, whether due or not (the caller waits for `notBefore`: order is kept). */
  pending(lane: string, limit: number): Promise<readonly OutboxRow[]>;
  /** Commit 5: PENDING -> SENDING, attempts + 1, in doubt from now on unless it was before. `false` when it is no longer PENDING. */
  sending(seq: number): Promise<boolean>;
  /** Commit 6. `retry` is for failures proven before dispatch only. */
  settle(seq: number, settlement: Settlement): Promise<void>;

  /**
   * Once, at start, before any channel. `notice` makes the part that tells the chat its message is given up. `stoppedMark` is set below
   * what was shown of an answer that was cancelled within a day, where the process ended before its turn did so.
   */
  recover(
    bounds: { readonly maxAttempts: number; readonly maxAgeMs: number; readonly stoppedMark?: string },
    notice: (row: InboxRow, reason: string) => readonly NewPart[],
  ): Promise<Recovery>;
  counts(): Promise<JournalCounts>;
  /** Lanes with NEW rows and delivery lanes with PENDING parts, oldest first: where to look after an outside change. */
  work(): Promise<{ readonly lanes: readonly string[]; readonly outboxLanes: readonly string[] }>;

  dead: {
    list(): Promise<readonly DeadLetter[]>;
    show(id: string): Promise<DeadLetter | undefined>;
    /** Back to NEW or PENDING with attempts 0 and a fresh expiry. `false` = no such dead letter. */
    replay(id: string): Promise<boolean>;
    drop(id: string): Promise<boolean>;
  };

  /**
   * Rows as objects, oldest first, to look into single calls; totals come from `spending`. Append-only:
   * outlives sessions and inbox rows.
   */
  usage(since: number): Promise<readonly UsageEntry[]>;
  /**
   * Sums of the same ledger, ordered by key. Cheap over any number of rows: they are kept up to date with
   * each row.
   */
  spending(query: SpendingQuery): Promise<readonly SpendingGroup[]>;
  /** A paid call outside a turn's steps (embedding, transcription, summary). The same id twice is one row. */
  spend(entry: UsageEntry): Promise<void>;

  /** Called when another process (the CLI) changed the journal: look for new work again. */
  onOutsideChange(listener: () => void): void;
}

/** People who asked to be let in. Kept beside the journal, in the same file. */
export interface PairingRequest {
  readonly channel: string;
  readonly account: string;
  readonly senderId: string;
  readonly senderName: string;
  readonly state: 'pending' | 'approved' | 'denied';
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface PairingStore {
  /** What the owner decided about a sender; undefined when nothing was decided. Asks for nothing and changes nothing. */
  decided(who: { channel: string; account: string; senderId: string }): Promise<'approved' | 'denied' | undefined>;
  /**
   * The state of a sender; asks for a code when there is none or the old one expired. `code` is set only when the sender
   * should be told one now: new, or older than the repeat interval. At most `maxPending` (3) requests per channel account wait;
   * beyond that `full`. Codes: 8 characters without look-alikes, 1 hour, stored hashed, compared in constant time.
   */
  request(
    who: { channel: string; account: string; senderId: string; senderName: string },
    now: number,
  ): Promise<{ state: 'approved' | 'denied' | 'pending' | 'full'; code?: string }>;
  /** Undefined: no pending request has that code, or too many wrong codes were tried (10 an hour). */
  approve(code: string, now: number): Promise<PairingRequest | undefined>;
  deny(code: string, now: number): Promise<PairingRequest | undefined>;
  list(now: number): Promise<readonly PairingRequest[]>;
}
