/**
 * The journal holds everything in flight, on disk (design.md 3). States and sync points are the contract;
 * SQLite is one way to keep it.
 *
 * run    NEW -> RUNNING -> DONE | DEAD, or RUNNING -> PARKED -> NEW when the last of its waits is settled
 * step   STARTED -> DONE; one that stays STARTED after a crash has an unknown outcome
 * wait   OPEN -> SETTLED
 * outbox PENDING -> SENDING -> SENT | UNKNOWN | DEAD | EXPIRED
 *
 * What is refused has no row: it is counted. A write method resolves once its transaction is synced to disk,
 * and rejects with a `GatehouseError` when it did not happen: GH1301 the disk is full or read-only (nothing
 * was written; try later), GH1302 the file can no longer be trusted (stop the process). Writes asked for in
 * one tick of the event loop share a transaction; each is still all or nothing on its own.
 *
 * What a read tells is on disk as well, so that its caller may act on it. Not with `waiting`, `steps`,
 * `waits`, `pending` and `PairingStore.decided`, which do not wait for the disk: nothing may leave this
 * process because of them before a later write resolved. `Chats.of` does not wait either, and may be acted
 * on: a choice that is lost with the power was not confirmed to its person yet. `Chats.firstAccount` tells
 * what the commit of the message itself makes true.
 */

import type { Chats } from './chats.ts';
import type { Commits, Wakeup } from './commit.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { GoneTopics } from './gone-topics.ts';
import type { Jobs } from './job.ts';
import type { Ledger } from './ledger.ts';
import type { NewPart, Outbox, OutboxRow, OutboxState } from './outbox.ts';
import type { Processes } from './process.ts';
import type { PromptedRuns } from './prompted-run.ts';
import type { EventRecord } from './record.ts';
import type { ChatRow, RunRow, RunState, ToolUse } from './run.ts';
import type { Runs } from './runs.ts';
import type { SessionMessage } from './session.ts';
import type { Children } from './sub-agents.ts';
import type { TaskRows } from './task.ts';
import type { Waits } from './wait.ts';

export interface Recovery {
  /** How many RUNNING rows of another boot are NEW again. Their steps are kept. */
  readonly resumed: number;
  /**
   * How many rows had used up their attempts or age: they are DEAD now, with the parts of the caller's
   * `notice`.
   */
  readonly buried: number;
  /**
   * Those of them that were overheard and whose answer had not begun: they are DONE as `NOT_HEARD`, without a
   * notice. The caller removes their files.
   */
  readonly unheard: readonly ChatRow[];
  /**
   * Runs of messages that an earlier process may have been at work on when it ended, and that do not go on:
   * given up now, or cancelled since the last start or full hour of that process. Each is told at one start
   * only, as far as the clock was not set; the newest 30.
   */
  readonly left: readonly LeftRun[];
  /** How many PENDING parts are EXPIRED now, because their time was over. */
  readonly expired: number;
  /** SENDING parts of another boot; the caller settles them by send class before channels start. */
  readonly sending: readonly OutboxRow[];
  /** Lanes with NEW rows, in order of their oldest row. */
  readonly lanes: readonly string[];
  /** Delivery lanes with PENDING rows, in order of their oldest row. */
  readonly outboxLanes: readonly PendingLane[];
}

export interface LeftRun {
  readonly row: ChatRow;
  readonly state: 'DONE' | 'DEAD';
  readonly outcome: string;
}

export interface PendingLane {
  readonly lane: string;
  /** Epoch ms at which its oldest row expires. */
  readonly expiresAt: number;
}

export interface JournalCounts {
  readonly inbox: Readonly<Record<RunState, number>>;
  readonly outbox: Readonly<Record<OutboxState, number>>;
  /** Epoch ms of the oldest NEW row. */
  readonly oldestNewAt?: number;
  readonly refused: readonly { readonly channel: string; readonly reason: string; readonly count: number }[];
  /** Parts that wait or are under way, by channel; also of channels that are in the config no more. */
  readonly unsent: readonly { readonly channel: string; readonly count: number }[];
}

/** Session lines on their way from the journal into their files. */
export interface SessionLines {
  /** Session lines above `afterSeq` that the flusher has not put into their file yet, oldest first. */
  unflushed(
    limit: number,
    afterSeq?: number,
  ): Promise<
    readonly { readonly session: string; readonly lines: readonly { readonly seq: number; readonly line: SessionMessage }[] }[]
  >;
  flushed(seqs: readonly number[]): Promise<void>;
}

/** The whole journal, for the code that opens it. Other code names the part that it reads. */
export interface Journal extends Commits, Runs, Outbox, SessionLines, Ledger, AsyncDisposable {
  /** Made at random at each start, never a pid. A claim of any other boot is free to be taken over. */
  readonly bootId: string;
  readonly dead: DeadLetters;
  readonly chats: Chats;
  readonly jobs: Jobs;
  readonly processes: Processes;
  readonly children: Children;
  readonly goneTopics: GoneTopics;
  readonly prompted: PromptedRuns;
  readonly record: EventRecord;
  readonly tasks: TaskRows;
  readonly wakeup: Wakeup;
  readonly waits: Waits;

  /**
   * Called once, at the start, before any channel. `notice` makes the parts that tell the chat that its
   * message is given up, and which tools had run. The lines of what is given up are written in the same
   * transaction. `stoppedMark` is set below what was shown of an answer that was cancelled within a day,
   * where the process ended before its turn did so.
   */
  recover(
    bounds: { readonly maxAttempts: number; readonly maxAgeMs: number; readonly stoppedMark?: string },
    notice: (row: RunRow, reason: string, tools: readonly ToolUse[]) => readonly NewPart[],
  ): Promise<Recovery>;
  counts(): Promise<JournalCounts>;
  /**
   * Lanes with NEW rows and delivery lanes with PENDING parts, oldest first: where to look after an outside
   * change.
   */
  work(): Promise<Pick<Recovery, 'lanes' | 'outboxLanes'>>;

  /** Called when another process (the CLI) changed the journal: look for new work again. */
  onOutsideChange(listener: () => void): void;
}
