import type { SpendingGroup, SpendingGroupKey, SpendingQuery, UsageEntry } from '../core/journal.ts';
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

/** The key of each group as an SQL expression. SQLite's `localtime` is that of the process, as everywhere else a day is cut. */
const KEYS: Readonly<Record<SpendingGroupKey, string>> = {
  day: "strftime('%Y-%m-%d', at / 1000, 'unixepoch', 'localtime')",
  provider: 'provider',
  model: "provider || '/' || model",
  channel: 'channel',
  session: 'session',
  sender: 'sender',
  purpose: 'purpose',
  job: 'job',
};

interface SpendingRow {
  readonly key: string;
  readonly calls: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  readonly cost_usd: number;
  readonly unpriced: number;
}

/** `total` adds doubles as SQLite does: exact to far below a cent. A NULL cost is in no sum, only in `unpriced`. */
export function spendingOf(store: Store, { since, until, by }: SpendingQuery): readonly SpendingGroup[] {
  const key = KEYS[by];
  const rows = store.db.all<SpendingRow>(
    `SELECT ${key} AS key, count(*) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out,
       sum(tokens_cached) AS tokens_cached, total(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
     FROM usage WHERE at >= ? AND at < ? AND ${key} IS NOT NULL GROUP BY 1 ORDER BY 1`,
    since,
    until ?? Number.MAX_SAFE_INTEGER,
  );
  return rows.map(({ tokens_in, tokens_out, tokens_cached, cost_usd, ...rest }) => ({
    ...rest,
    tokensIn: tokens_in,
    tokensOut: tokens_out,
    tokensCached: tokens_cached,
    costUsd: cost_usd,
  }));
}
