/**
 * One write for everything: what a feature stores is a row in a commit, not a method of the journal of its
 * own (runs.md M9).
 */
import type { ChatSettings } from './chats.ts';
import type { RunEvent } from './events.ts';
import type { UsageEntry } from './ledger.ts';
import type { Address } from './message.ts';
import type { NewPart } from './outbox.ts';
import type { NewRun } from './run.ts';
import type { SessionMessage } from './session.ts';

export type Write =
  /** The same key is the same run, whoever offers it again: then nothing is written. */
  | { readonly kind: 'run'; readonly run: NewRun }
  /** Without a claim, a key that was enqueued before is skipped: see `Outbox.enqueue`. */
  | { readonly kind: 'part'; readonly part: NewPart }
  /** Without a session, of that of the run that writes. */
  | { readonly kind: 'line'; readonly session?: string; readonly line: SessionMessage }
  | { readonly kind: 'event'; readonly event: RunEvent }
  | { readonly kind: 'usage'; readonly entry: UsageEntry }
  /** What people chose for a chat; what is not named stays. */
  | { readonly kind: 'chat'; readonly chat: Address; readonly settings: ChatSettings };

/** The run that writes: it must still be RUNNING in this generation. */
export interface Claim {
  readonly seq: number;
  readonly generation: number;
  /** Ends the claim in the same commit. Absent = the run goes on. */
  readonly end?: {
    /** DEAD keeps the input for `dead replay`; a notice for the chat travels as a part. */
    readonly state: 'DONE' | 'DEAD';
    /** Short and stable: `answered`, `cancelled`, `limit:iterations`, `failed:GH2103`. */
    readonly outcome: string;
    /** How long the attempt ran, for the record. Default 0. */
    readonly ms?: number;
  };
}

export interface Commits {
  /**
   * All or nothing, in order, on disk when it resolves; what it made is told to `Wakeup` then. `false` = the
   * claim no longer stands, and nothing was written. Rejects as every write does (`journal.ts`).
   */
  commit(writes: readonly Write[], claim?: Claim): Promise<boolean>;
}

/** What there is to look at: a run of this lane, a part of this delivery lane. */
export type Woken = 'run' | 'part';

/**
 * Tells who acts on rows that there are new ones. In one process a call, between several a notification of
 * the database; a listener that missed one finds the row when it looks the next time.
 */
export interface Wakeup {
  notify(what: Woken, lane: string): void;
  listen(listener: (what: Woken, lane: string) => void): Disposable;
}
