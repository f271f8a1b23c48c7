/** What the journal does with runs and their steps. It says when methods resolve and how they reject. */

import type { UsageEntry } from './ledger.ts';
import type { Taking } from './queueing.ts';
import type { Accepted, Admission, RunRow, TurnResult } from './run.ts';
import type { StepRecord } from './step.ts';

export interface Load {
  readonly messages: number;
  /** Of the messages as they are stored. */
  readonly bytes: number;
}

export interface Runs {
  /**
   * Commit 1. In one transaction, in order: inbox rows (`ON CONFLICT DO NOTHING` on the dedup key and on the
   * secondary key), refusal counters, answers with their parts, and the cursor of (channel, account) when
   * given. An admitted `edit`/`delete` whose target row is still NEW replaces its text or ends it
   * (`amended`), and so does one whose target has an earlier edit that is still NEW; otherwise an edit is a
   * row of its own and a delete is refused. An edit that `onlyCorrects` is a row of its own only when the
   * same person's message of the same chat is in its turn or was answered. An admission that would be a row
   * of its own and has `ifOwnRow` becomes what that decides; then `decided` of the result is that. See
   * `room`.
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

  /** NEW rows of a lane, oldest first, after `afterSeq`. Does not claim them. */
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
   * The session of a run that this process claimed, which may have been begun anew since. Does not wait for
   * the disk.
   */
  sessionOf(row: Pick<RunRow, 'seq' | 'session'>): Promise<string | undefined>;
}
