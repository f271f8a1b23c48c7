import type { UsageEntry } from '../core/ledger.ts';
import type { Store } from './store.ts';
import { addToSums, keepSums, SUMMED_UNTIL_SQL } from './usage-sums.ts';

interface UsageRow {
  readonly id: string;
  readonly at: number;
  readonly provider: string;
  readonly model: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  readonly tokens_cache_write: number;
  readonly tokens_reasoning: number | null;
  readonly cost_usd: number | null;
  readonly session: string;
  readonly channel: string;
  readonly sender: string;
  readonly purpose: string;
  readonly job: string | null;
}

/** A row from before the time up to which the sums hold all rows. */
const IS_LATE = `SELECT 1 AS late WHERE ? < ${SUMMED_UNTIL_SQL}`;

/**
 * Append-only: nothing prunes or changes this table. The same id twice is one row, and counts once in the
 * sums.
 */
export function addUsage(store: Store, entry: UsageEntry): void {
  const added = store.db.run(
    `INSERT INTO usage (id, at, provider, model, tokens_in, tokens_out, tokens_cached, tokens_cache_write, tokens_reasoning, cost_usd,
       session, channel, sender, purpose, job)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    entry.id,
    entry.at,
    entry.provider,
    entry.model,
    entry.tokensIn,
    entry.tokensOut,
    entry.tokensCached,
    entry.tokensCacheWrite ?? 0,
    entry.tokensReasoning ?? null,
    entry.costUsd,
    entry.session,
    entry.channel,
    entry.sender,
    entry.purpose,
    entry.job ?? null,
  );
  if (added === 0) return;
  if (store.db.get(IS_LATE, entry.at)) addToSums(store, entry.id);
  else keepSums(store);
}

export function usageSince(store: Store, since: number): readonly UsageEntry[] {
  return store.db
    .all<UsageRow>('SELECT * FROM usage WHERE at >= ? ORDER BY at, id', since)
    .map(({ tokens_in, tokens_out, tokens_cached, tokens_cache_write, tokens_reasoning, cost_usd, job, ...rest }) => ({
      ...rest,
      tokensIn: tokens_in,
      tokensOut: tokens_out,
      tokensCached: tokens_cached,
      ...(tokens_cache_write === 0 ? {} : { tokensCacheWrite: tokens_cache_write }),
      ...(tokens_reasoning === null ? {} : { tokensReasoning: tokens_reasoning }),
      costUsd: cost_usd,
      ...(job === null ? {} : { job }),
    }));
}
