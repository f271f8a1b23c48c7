/**
 * Runs: work that a message, a job, another run or the API began. `journal.ts` has the states, `runs.ts` what
 * the journal does with them.
 */

import type { Authority } from './authority.ts';
import type { ChatSettings, TopicChange } from './chats.ts';
import type { Restart, SessionCut } from './conversation.ts';
import type { PersonalWrite } from './erasure.ts';
import type { Address, AnswerTarget, InboundMessage, RefusalReason } from './message.ts';
import type { Profile, Prompt, RunChange, Source } from './new-run.ts';
import type { NewPart } from './outbox.ts';
import type { During } from './queueing.ts';
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
       * In place of `parts`, from the number that a run of `writes` has got, which are written first then.
       * Called inside the transaction: it must be quick.
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
  /**
   * Only rows that this person began, see `principalOf`. What others said in these (queue mode collect) waits
   * anew, unless a model had answered. Absent: all rows.
   */
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
  /** What another conversation keeps of it, which waited to be told of its result. */
  readonly note?: { readonly session: string; readonly line: SessionMessage };
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
  /** Changed or cancelled a row that had not begun. `goesOn`: taken back, and what was joined to it stays. */
  | { readonly kind: 'amended'; readonly row: number; readonly goesOn?: true }
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
  /**
   * Notes that the run has read; the others become rows again. Absent: those that a recorded answer had seen.
   */
  readonly notes?: number;
}

/**
 * Outcome of what was overheard and could not be listened to: whether it addressed the agent is not known.
 */
export const NOT_HEARD = 'not-heard';
