/**
 * One write for everything: what a feature stores is a row in a commit, not a method of the journal of its
 * own (runs.md M9).
 */
import type { ChatSettings } from './chats.ts';
import type { EraseWrite, LinkWrite } from './erasure.ts';
import type { RunEvent } from './events.ts';
import type { Job } from './job.ts';
import type { UsageEntry } from './ledger.ts';
import type { Address } from './message.ts';
import type { RunChange } from './new-run.ts';
import type { NewPart } from './outbox.ts';
import type { NewAuditEntry, PersonRef, ShutOut } from './people.ts';
import type { PinWrite } from './pin.ts';
import type { ProcessRow } from './process.ts';
import type { OwnCall } from './prompted-run.ts';
import type { SessionMessage } from './session.ts';
import type { ToolResult } from './tool.ts';
import type { Asked, NewWait, Question, Settled } from './wait.ts';

export type Write =
  | RunChange
  /**
   * Ends the unfinished run of this key, and all that it began, as `/stop` does: DONE as `cancelled`. Changes
   * nothing where it is over.
   */
  | { readonly kind: 'cancel'; readonly run: string }
  /**
   * A run that is DONE as `own-call` at once, with the one call that it is about. The same key is the same
   * call.
   */
  | { readonly kind: 'own-call'; readonly call: OwnCall }
  /** Without a claim, a key that was enqueued before is skipped: see `Outbox.enqueue`. */
  | { readonly kind: 'part'; readonly part: NewPart }
  /** A line of this session; by default, of the session of the run that writes. */
  | { readonly kind: 'line'; readonly session?: string; readonly line: SessionMessage }
  | { readonly kind: 'event'; readonly event: RunEvent }
  | { readonly kind: 'usage'; readonly entry: UsageEntry }
  /** What people chose for a chat; what is not named stays. */
  | { readonly kind: 'chat'; readonly chat: Address; readonly settings: ChatSettings }
  /** Changes nothing where the wait is over already. */
  | { readonly kind: 'settle'; readonly settled: Settled }
  /** A question of no run, under an id of its own. Changes nothing where there is one of this id. */
  | { readonly kind: 'ask'; readonly id: string; readonly question: Question; readonly asked: Asked; readonly late: ToolResult }
  /**
   * The clock was set back: an open wait that was begun later than now lasts from now as long as it was to
   * last from its beginning.
   */
  | { readonly kind: 'set-back' }
  /** The timer of a reminder is over; the parts are added where its question is open still. */
  | { readonly kind: 'remind'; readonly timer: string; readonly question: string; readonly parts: readonly NewPart[] }
  /** An open question stands in this chat from now on. */
  | { readonly kind: 'asked-in'; readonly id: string; readonly chat: string }
  /**
   * `was` is the job as the caller read it; without it there must be none of this id. `most`: jobs that its
   * principal may have, a new one included. Where that is no longer so, because an edit and a firing or two
   * new jobs met, nothing of the commit is written.
   */
  | { readonly kind: 'job'; readonly job: Job | { readonly gone: string }; readonly was?: Job; readonly most?: number }
  /** The session is begun anew: no yes for it holds any more. */
  | { readonly kind: 'end-grants'; readonly session: string }
  /** Runs from now on, or is gone. */
  | { readonly kind: 'process'; readonly process: ProcessRow | { readonly gone: string } }
  | ShutOut
  | LinkWrite
  | EraseWrite
  | PinWrite
  /** A block is lifted: the config decides again, and who is not in it may ask to be let in. */
  | { readonly kind: 'unblock'; readonly who: PersonRef; readonly by: string }
  /** Of a decision that no other row of the commit records by itself. */
  | { readonly kind: 'audit'; readonly entry: NewAuditEntry };

/** The run that writes: it must still be RUNNING in this generation. */
export interface Claim {
  readonly seq: number;
  readonly generation: number;
  /** Ends the claim in the same commit. Absent = the run goes on. */
  readonly end?: End | Park;
}

interface End {
  /** DEAD keeps the input for `dead replay`; a notice for the chat travels as a part. */
  readonly state: 'DONE' | 'DEAD';
  /** Short and stable: `answered`, `cancelled`, `limit:iterations`, `failed:GH2103`. */
  readonly outcome: string;
  /** How long the attempt ran. Default 0. */
  readonly ms?: number;
  /** For the run or the client that waits for this one. Default: a failed result that names the outcome. */
  readonly result?: ToolResult;
  /** Bits that its history and its steps added (runs.md M4). Default 0. */
  readonly taint?: number;
  /** See `TurnResult`. */
  readonly notes?: number;
}

/** The run waits: what it waits for, and what that asks for, is written in this commit. */
export interface Park {
  readonly state: 'PARKED';
  readonly outcome: 'parked';
  readonly ms?: number;
  readonly waits: readonly NewWait[];
  /** Id of the newest line of the history it was given; empty = of none. */
  readonly historyTo: string;
  readonly taint?: number;
  readonly notes?: number;
}

export interface Commits {
  /**
   * All or nothing, in order, on disk when it resolves; what it made is told to `Wakeup` then. `false` = the
   * claim no longer stands, or a job is not as it was or one too many, and nothing was written. Rejects as
   * every write does (`journal.ts`).
   */
  commit(writes: readonly Write[], claim?: Claim): Promise<boolean>;
}

/**
 * What is new, and what `lane` then names: of `run` its lane, of `part` its delivery lane, of `job` its id.
 * Of `wait`, one with a date, it is empty.
 */
export type Woken = 'run' | 'part' | 'wait' | 'job';

/**
 * Tells listeners that there are new rows to act on. In one process a call, between several a notification of
 * the database; a listener that missed one finds the row when it looks the next time.
 */
export interface Wakeup {
  notify(what: Woken, lane: string): void;
  listen(listener: (what: Woken, lane: string) => void): Disposable;
}
