/**
 * Runs: work that a message, a job, another run or the API began, with the steps of each. `journal.ts` has
 * the states, and says when methods resolve and how they reject.
 */

import type { Authority } from './authority.ts';
import type { ChatSettings, TopicChange } from './chats.ts';
import type { Restart, SessionCut } from './conversation.ts';
import type { PersonalWrite } from './erasure.ts';
import type { UsageEntry } from './ledger.ts';
import type { Address, AnswerTarget, InboundMessage, RefusalReason } from './message.ts';
import type { Profile, Prompt, RunChange, Source } from './new-run.ts';
import type { NewPart } from './outbox.ts';
import type { During, Taking } from './queueing.ts';
import type { SessionMessage } from './session.ts';
import type { StepRecord } from './step.ts';
import type { ToolResult } from './tool.ts';
import type { NewWait, Settles } from './wait.ts';

export type RunState = 'NEW' | 'RUNNING' | 'PARKED' | 'DONE' | 'DEAD';

/** What admit decided about one inbound message, in the order received. */
export type Admission =
  /**
   * Becomes a NEW row of its lane: `lane` and `session` are those of the chat or thread, and in a chat the
   * active topic makes them its own. An edit or delete of what is still NEW changes that row instead (see
   * `accept`). `onlyCorrects`: an edit that is refused with this reason unless what it corrects was taken
   * up, or is about to be.
   */
  | {
      readonly kind: 'admit';
      readonly message: InboundMessage;
      readonly lane: string;
      readonly session: string;
      readonly onlyCorrects?: RefusalReason;
      /** Default: a member's. */
      readonly authority?: Authority;
      /** Bits of what the message brings in (runs.md M4). Default 0. */
      readonly taint?: number;
      /** Absent: it waits until its lane is free. */
      readonly during?: During;
      /**
       * Decides in place of this where it would be a row of its own. Absent: it may be one. Called inside the
       * transaction: it must be quick.
       */
      readonly ifOwnRow?: () => Exclude<Admission, { readonly kind: 'admit' }>;
    }
  /**
   * Recorded as DONE at once with this answer: commands, pairing codes, abort words. Not run, still answered
   * exactly once.
   */
  | {
      readonly kind: 'answer';
      readonly message: InboundMessage;
      readonly lane: string;
      readonly session: string;
      readonly outcome: string;
      readonly parts: readonly NewPart[];
      readonly cancels?: Cancels;
      /** Rows that come with it, in its transaction; with `settles` only where that ended the wait. */
      readonly writes?: readonly (RunChange | PersonalWrite)[];
      /**
       * In place of `parts`, from the number that a run of `writes` has got, which are written first then. Called inside the transaction: it
       * must be quick.
       */
      readonly partsAfter?: (number: (run: string) => number) => readonly NewPart[];
      /** The sender is not let in: the row is all that is kept of them, and no chat is noted. */
      readonly isStranger?: true;
      readonly settles?: Settles;
      /** In the same commit. */
      readonly topic?: TopicChange;
      /** The session of its topic is begun anew; see `Restart`. */
      readonly restart?: Restart;
      /** Of the chat, and as `Write` of this kind. */
      readonly settings?: ChatSettings;
    }
  /** No row, no content: only (channel, reason) is counted. */
  | { readonly kind: 'refuse'; readonly message: InboundMessage; readonly reason: RefusalReason };

/**
 * What an answer ends, in its own transaction: the NEW and RUNNING rows become DONE as `cancelled`, their
 * claims are fenced and their lines are written, so that what was said to be cancelled can neither answer nor
 * be forgotten, after a crash either.
 */
export interface Cancels {
  /** Rows of the lane of the answered message, of all lanes of its chat, or the run of this key alone. */
  readonly where: 'lane' | 'chat' | { readonly run: string };
  /** Only rows that this person began, see `principalOf`. Absent: all rows. */
  readonly principal?: string;
  /**
   * In place of `parts` when there was such a row, and to the same lanes. Called inside the transaction: it
   * must be quick.
   */
  readonly parts?: (ended: readonly EndedRun[]) => readonly NewPart[];
  /**
   * Set below what an earlier attempt showed of an answer whose row is NEW; a RUNNING one's turn does so
   * itself.
   */
  readonly stoppedMark?: string;
}

/**
 * A call of a tool that began. `isKnown`: it came to an end. Otherwise it is not known whether it took
 * effect.
 */
export interface ToolUse {
  readonly name: string;
  readonly isKnown: boolean;
}

/** What a run leaves that ends without its agent. */
export interface Remains {
  /** For its session, in order. Empty: the run left nothing to remember. */
  readonly lines: readonly SessionMessage[];
  readonly tools: readonly ToolUse[];
}

/** Called inside the transaction that ends the row: it must be quick, and must not throw. */
export type RemainsOf = (row: RunRow, steps: readonly StepRecord[]) => Remains;

/** A run that was cancelled. Its lines are in the journal. */
export interface EndedRun extends Remains {
  readonly row: RunRow;
  /** Its model had answered, so the lines say what it was asked. */
  readonly hasSteps: boolean;
}

export type Accepted =
  /** `interrupted`: what it ended; see `cancelled`. */
  | { readonly kind: 'new'; readonly row: ChatRow; readonly interrupted?: readonly EndedRun[] }
  /** The running run of this row is told its words. */
  | { readonly kind: 'steered'; readonly row: number; readonly outcome: string }
  /** `cancelled`: their turns are to be told, and their outboxes may have something new. */
  | {
      readonly kind: 'answered';
      readonly cancelled: readonly EndedRun[];
      readonly decided?: Admission;
      /** Marks that the commit wrote for sessions that begin anew or end. */
      readonly cuts?: readonly SessionCut[];
    }
  /** Changed or cancelled a row that had not begun. */
  | { readonly kind: 'amended'; readonly row: number }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'refused'; readonly decided?: Admission };

/** The admission that counts: what its `ifOwnRow` decided, where that was asked. */
export function decidedOf(admission: Admission, accepted: Accepted | undefined): Admission {
  const isOver = accepted?.kind === 'answered' || accepted?.kind === 'refused';
  return (isOver ? accepted.decided : undefined) ?? admission;
}

/** A run as it lies in the journal. */
export type RunRow = RunFacts & (ChatInput | PromptInput);

/** A run that a message began. */
export type ChatRow = RunFacts & ChatInput;

interface ChatInput {
  readonly source: { readonly kind: 'chat' };
  readonly message: InboundMessage;
}

interface PromptInput {
  readonly source: Exclude<Source, { readonly kind: 'chat' }>;
  readonly message?: undefined;
  readonly prompt: Prompt;
}

interface RunFacts {
  /** Ascending in order of acceptance. */
  readonly seq: number;
  /**
   * The same cause is one row, however often it is offered. Correlation id of its events: of a chat the
   * message's.
   */
  readonly key: string;
  readonly profile: Profile;
  /** Order and mutual exclusion: at most one RUNNING row a lane. */
  readonly lane: string;
  readonly session: string;
  /** Session in whose directory the tools work. Absent = its own. */
  readonly workspace?: string;
  /**
   * Where the answer goes. Absent = to no chat: it stands in the session, or goes to the run that waits for
   * it.
   */
  readonly replyTo?: Address;
  readonly authority: Authority;
  /** How many times a turn began on it, this one included. */
  readonly attempts: number;
  readonly acceptedAt: number;
  /**
   * Fencing token: every later write about this claim names it; a stale one is refused (`false`), never
   * applied.
   */
  readonly generation: number;
  /** Bits of what it brought in (runs.md M4). Absent = 0. */
  readonly taint?: number;
  /** How long it ran before it was parked. Absent = 0. */
  readonly ranMs?: number;
  /** Of a run that was parked: id of the newest line of the history it had; empty = it had none. */
  readonly historyTo?: string;
  /** Of a task: what it is called. */
  readonly title?: string;
}

/** Undefined = no chat is told. */
export function targetOf(row: RunRow): AnswerTarget | undefined {
  return row.message ?? (row.replyTo && { id: row.key, ...row.replyTo });
}

/** Whose share of the turns a run takes, and where its events are noted. Without a chat: its source. */
export function channelOf(row: RunRow): string {
  const { message, replyTo, source } = row;
  return message?.channel ?? replyTo?.channel ?? (message ? undefined : row.prompt.child?.chat?.channel) ?? source.kind;
}

export interface TurnResult {
  readonly seq: number;
  readonly generation: number;
  /** DEAD keeps the payload for `dead replay`; a notice for the user travels in `parts`. */
  readonly state: 'DONE' | 'DEAD' | 'PARKED';
  /** Short and stable: `answered`, `cancelled`, `limit:iterations`, `failed:GH2103`; `parked`. */
  readonly outcome: string;
  /** Of `lines`. Absent = that of the run. */
  readonly session?: string;
  readonly lines: readonly SessionMessage[];
  readonly parts: readonly NewPart[];
  /** How long the attempt ran. Default 0. */
  readonly ms?: number;
  /** For the run that waits for this one; see `Claim`. */
  readonly result?: ToolResult;
  /** Of a run that parks. */
  readonly waits?: readonly NewWait[];
  readonly historyTo?: string;
  readonly taint?: number;
  /** Notes that the run has read; the others become rows again. Absent: those that a recorded answer had seen. */
  readonly notes?: number;
}

export interface Load {
  readonly messages: number;
  /** Of the messages as they are stored. */
  readonly bytes: number;
}

/** Outcome of what was overheard and could not be listened to: whether it addressed the agent is not known. */
export const NOT_HEARD = 'not-heard';

export interface Runs {
  /**
   * Commit 1. In one transaction, in order: inbox rows (`ON CONFLICT DO NOTHING` on the dedup key and on the
   * secondary key), refusal counters, answers with their parts, and the cursor of (channel, account) when
   * given. An admitted `edit`/`delete` whose target row is still NEW replaces its text or ends it
   * (`amended`), and so does one whose target has an earlier edit that is still NEW; otherwise an edit is a
   * row of its own and a delete is refused. An edit that `onlyCorrects` is a row of its own only when the
   * same person's message of the same chat is in its turn or was answered. An admission that would be a row of
   * its own and has `ifOwnRow` becomes what that decides; then `decided` of the result is that. See `room`.
   *
   * `onCommit` is called when readers see the rows, before they are on disk. What it starts may do nothing
   * outside this process before a later write of its own has resolved: the sync of that one covers this one.
   */
  accept(
    batch: readonly Admission[],
    cursor?: { readonly channel: string; readonly account: string; readonly value: string },
    onCommit?: (accepted: readonly Accepted[]) => void,
  ): Promise<readonly Accepted[]>;
  /** NEW + RUNNING rows that may still be added before the high-water mark. Cheap; counts in memory. */
  room(): number;
  /**
   * What waits or runs of a lane with its topics, a sender (their principal), or in all (key ''), as far as
   * it is on disk. `outbox`: what is to be sent on a channel, by `channelOf` its lanes. `principal`: what
   * waits of them.
   */
  load(of: 'lane' | 'sender' | 'all' | 'outbox', key: string, principal?: string): Load;
  cursor(channel: string, account: string): Promise<string | undefined>;

  /** NEW rows of a lane that are due, oldest first, after `afterSeq`. Does not claim them. */
  waiting(lane: string, limit: number, afterSeq?: number): Promise<readonly RunRow[]>;
  /**
   * NEW -> RUNNING, attempts + 1, a new generation. Undefined when the row is no longer NEW (cancelled,
   * merged, taken). `onCommit` gets the same before it is on disk: until this resolves, nothing of the run
   * may leave the process. `taking` ends other rows of the lane in the same transaction.
   */
  claim(seq: number, onCommit?: (row: RunRow | undefined) => void, taking?: Taking): Promise<RunRow | undefined>;
  /** RUNNING -> NEW without counting the attempt: the daemon is shutting down. `false` = fenced. */
  release(seq: number, generation: number): Promise<boolean>;

  /** Which of these rows were cancelled, by whichever process. */
  cancelled(seqs: readonly number[]): Promise<readonly number[]>;

  /** Steps recorded by earlier attempts at this row, in order. */
  steps(seq: number): Promise<readonly StepRecord[]>;
  /**
   * Commits 2 and 3. `false` = fenced: stop, another attempt owns the row. A model step may carry its usage,
   * written in the same transaction.
   */
  step(seq: number, generation: number, record: StepRecord, usage?: UsageEntry): Promise<boolean>;

  /**
   * Commit 4: session lines + parts + final state, one transaction. `false` = fenced, nothing was written.
   * `onCommit` as of `accept`, with the session that the lines belong to; not called when fenced.
   */
  finish(result: TurnResult, onCommit?: (session: string) => void): Promise<boolean>;
  /**
   * The session of a run, which may have been begun anew since the run was claimed. Does not wait for the
   * disk.
   */
  sessionOf(seq: number): Promise<string | undefined>;
}
