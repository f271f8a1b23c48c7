/**
 * What came in: NEW -> RUNNING -> DONE | DEAD, with the steps of its turn. When its methods resolve and how they
 * reject is said in `journal.ts`.
 */
import type { UsageEntry } from './ledger.ts';
import type { InboundMessage, Json, RefusalReason } from './message.ts';
import type { NewPart } from './outbox.ts';
import type { SessionMessage } from './session.ts';

export type RunState = 'NEW' | 'RUNNING' | 'PARKED' | 'DONE' | 'DEAD';

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
  | { readonly kind: 'new'; readonly row: RunRow }
  /** `cancelled`: the lanes in which rows were, whose turns are to be told and whose outbox may have something new. */
  | { readonly kind: 'answered'; readonly cancelled: readonly string[] }
  /** Changed or cancelled a row that had not begun. */
  | { readonly kind: 'amended'; readonly row: number }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'refused' };

export interface RunRow {
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

export interface StepRecord {
  readonly n: number;
  readonly kind: 'model' | 'tool';
  /** Model: the answer. Tool: `{callId, name, result?}`. */
  readonly state: 'STARTED' | 'DONE';
  readonly callId?: string;
  readonly argsHash?: string;
  readonly value?: Json;
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

export interface Load {
  readonly messages: number;
  /** Of the messages as they are stored. */
  readonly bytes: number;
}

/** Outcome of what was overheard and could not be listened to: nobody knows whether it addressed the agent. */
export const NOT_HEARD = 'not-heard';

export interface Runs {
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
  /**
   * What waits or runs of a lane, of a sender (their principal), or in all (key ''); `outbox`: what is still to be sent on a channel,
   * by `channelOf` its lanes. Cheap, like `room`; only what is on disk.
   */
  load(of: 'lane' | 'sender' | 'all' | 'outbox', key: string): Load;
  cursor(channel: string, account: string): Promise<string | undefined>;

  /** NEW rows of a lane that are due, oldest first, after `afterSeq`. Does not claim them. */
  waiting(lane: string, limit: number, afterSeq?: number): Promise<readonly RunRow[]>;
  /** NEW -> RUNNING, attempts + 1, a new generation. Undefined when the row is no longer NEW (cancelled, merged, taken). */
  claim(seq: number): Promise<RunRow | undefined>;
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
}
