/**
 * The ledger of what tools changed: calls with an effect on files of a session, or on what others see, and
 * those that a person allowed, such as a request that only reads and whose address may carry out what was
 * read.
 */
import type { Effect } from './tool.ts';

export interface EffectEntry {
  /** The key of the run, as `gatehouse why` takes it. Absent = its row is gone. */
  readonly run?: string;
  readonly session?: string;
  /** Who asked, such as `telegram:123`. */
  readonly principal?: string;
  readonly callId: string;
  readonly tool: string;
  /** `none` = it changed nothing, and a person was asked all the same. */
  readonly effect: Effect;
  /** Who said yes to it: a principal, or `cli`. Absent = no yes was needed, or the question is purged. */
  readonly allowedBy?: string;
  /** Epoch ms. */
  readonly startedAt: number;
  /** Absent = it is not known whether it took effect: the call is under way, or its process ended. */
  readonly endedAt?: number;
}

export interface Effects {
  /**
   * Calls that began at `since` (epoch ms) or later, the oldest first, as long as the journal keeps their
   * run.
   */
  effects(since: number): Promise<readonly EffectEntry[]>;
}
