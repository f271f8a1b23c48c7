import type { UsageEntry } from '../core/journal.ts';
import type { Store } from './store.ts';

interface UsageRow {
  readonly id: string;
  readonly at: number;
  readonly provider: string;
  readonly model: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  readonly cost_usd: number | null;
  readonly session: string;
  readonly channel: string;
  readonly sender: string;
  readonly purpose: string;
  readonly job: string | null;
}

/** Append-only: nothing prunes or changes this table. The same id twice is one row. */
export function addUsage(store: Store, entry: UsageEntry): void {
  store.db.run(
    `INSERT INTO usage (id, at, provider, model, tokens_in, tokens_out, tokens_cached, cost_usd, session, channel, sender, purpose, job)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    entry.id,
    entry.at,
    entry.provider,
    entry.model,
    entry.tokensIn,
    entry.tokensOut,
    entry.tokensCached,
    entry.costUsd,
    entry.session,
    entry.channel,
    entry.sender,
    entry.purpose,
    entry.job ?? null,
  );
}

export function usageSince(store: Store, since: number): readonly UsageEntry[] {
  return store.db
    .all<UsageRow>('SELECT * FROM usage WHERE at >= ? ORDER BY at, id', since)
    .map(({ tokens_in, tokens_out, tokens_cached, cost_usd, job, ...rest }) => ({
      ...rest,
      tokensIn: tokens_in,
      tokensOut: tokens_out,
      tokensCached: tokens_cached,
      costUsd: cost_usd,
      ...(job === null ? {} : { job }),
    }));
}
