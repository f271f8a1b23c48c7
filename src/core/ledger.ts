/** What model calls cost. Append-only: it outlives sessions and messages. */

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

/**
 * What the ledger can be added up by. `model` is `provider/model`; `day` is cut at midnight of the asking
 * process's time zone.
 */
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

export interface Ledger {
  /**
   * Rows as objects, oldest first, to look into single calls; totals come from `spending`. Append-only:
   * outlives sessions and runs.
   */
  usage(since: number): Promise<readonly UsageEntry[]>;
  /**
   * Sums of the same ledger, ordered by key. Cheap over any number of rows: they are kept up to date with
   * each row.
   */
  spending(query: SpendingQuery): Promise<readonly SpendingGroup[]>;
  /** A paid call outside a turn's steps (embedding, transcription, summary). The same id twice is one row. */
  spend(entry: UsageEntry): Promise<void>;
}

/** Sums alone: all that limits and reports read. */
export type SpendingReader = Pick<Ledger, 'spending'>;
