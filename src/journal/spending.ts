/**
 * Sums of the ledger: kept in roll-up tables with each row, and read from them (see migration 4 in
 * `schema.ts`).
 */
import type { SpendingGroup, SpendingGroupKey, SpendingQuery, UsageEntry } from '../core/journal.ts';
import type { Store } from './store.ts';

/** Every time zone's midnight falls on a quarter of an hour of UTC. */
const SLOT_MS = 900_000;
const DAY_MS = 86_400_000;

const SUMS = ['calls', 'tokens_in', 'tokens_out', 'tokens_cached', 'tokens_cache_write', 'cost_usd', 'unpriced'] as const;
/** Adds to a row of sums, or begins it. */
function addSql(table: string, ...key: readonly string[]): string {
  const columns = [...key, ...SUMS];
  const added = SUMS.map((sum) => `${sum} = ${sum} + excluded.${sum}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT DO UPDATE SET ${added.join(', ')}`;
}

const ADD_TO_TOTAL = addSql('usage_total', 'start');
const ADD_TO_MODEL = addSql('usage_by_model', 'span_ms', 'start', 'provider', 'model', 'channel', 'purpose');
const ADD_TO_SENDER = addSql('usage_by_sender', 'start', 'session', 'sender', 'job');

/** Call once for each new row of `usage`, in its transaction. */
export function addToSums({ db }: Store, entry: UsageEntry): void {
  const { at, provider, model, channel, purpose, session, sender, job = '' } = entry;
  const { tokensIn, tokensOut, tokensCached, tokensCacheWrite = 0, costUsd } = entry;
  const sums = [1, tokensIn, tokensOut, tokensCached, tokensCacheWrite, costUsd ?? 0, costUsd === null ? 1 : 0];
  const slot = at - (at % SLOT_MS);
  db.run(ADD_TO_TOTAL, slot, ...sums);
  db.run(ADD_TO_MODEL, SLOT_MS, slot, provider, model, channel, purpose, ...sums);
  db.run(ADD_TO_MODEL, DAY_MS, at - (at % DAY_MS), provider, model, channel, purpose, ...sums);
  db.run(ADD_TO_SENDER, slot, session, sender, job, ...sums);
}

/** SQLite's `localtime` is that of the process, as everywhere else a day is cut. */
const localDay = (ms: string): string => `strftime('%Y-%m-%d', ${ms} / 1000, 'unixepoch', 'localtime')`;
const MODEL_KEY = "provider || '/' || model";

/** Where a key is summed up, and the key as an SQL expression there and in `usage`. */
const KEYS: Readonly<Record<SpendingGroupKey, { readonly table: string; readonly key: string; readonly ofRow?: string }>> = {
  day: { table: 'usage_total', key: localDay('start'), ofRow: localDay('at') },
  provider: { table: 'usage_by_model', key: 'provider' },
  model: { table: 'usage_by_model', key: MODEL_KEY },
  channel: { table: 'usage_by_model', key: 'channel' },
  purpose: { table: 'usage_by_model', key: 'purpose' },
  session: { table: 'usage_by_sender', key: 'session' },
  sender: { table: 'usage_by_sender', key: 'sender' },
  job: { table: 'usage_by_sender', key: 'job' },
};

/** Begin and end of a range of time, ms; the end is exclusive. */
type Range = readonly [number, number];

interface Piece {
  readonly sql: string;
  readonly range: Range;
}

interface SpendingRow {
  readonly key: string;
  readonly calls: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  readonly tokens_cache_write: number;
  readonly cost_usd: number;
  readonly unpriced: number;
}

/**
 * `total` adds doubles: exact to far below a cent, and no count is too large for it. An unknown cost is in no
 * sum, only in `unpriced`.
 */
export function spendingOf(
  store: Store,
  { since, until = Number.MAX_SAFE_INTEGER, by }: SpendingQuery,
): readonly SpendingGroup[] {
  const pieces = piecesOf(by, [since, until]);
  const rows = store.db.all<SpendingRow>(
    `SELECT key, ${SUMS.map((sum) => `total(${sum}) AS ${sum}`).join(', ')}
     FROM (${pieces.map(({ sql }) => sql).join(' UNION ALL ')}) GROUP BY key ORDER BY key`,
    ...pieces.flatMap(({ range }) => range),
  );
  return rows.map(({ tokens_in, tokens_out, tokens_cached, tokens_cache_write, cost_usd, ...rest }) => ({
    ...rest,
    tokensIn: tokens_in,
    tokensOut: tokens_out,
    tokensCached: tokens_cached,
    tokensCacheWrite: tokens_cache_write,
    costUsd: cost_usd,
  }));
}

/**
 * Whole days from their sums, what is left at both ends from those of quarter hours, and what is left of that
 * from the rows.
 */
function piecesOf(by: SpendingGroupKey, whole: Range): readonly Piece[] {
  const { table, key, ofRow = key } = KEYS[by];
  const outsideJobs = by === 'job' ? "AND job <> ''" : '';
  const rows = `SELECT ${ofRow} AS key, 1 AS calls, tokens_in, tokens_out, tokens_cached, tokens_cache_write,
    coalesce(cost_usd, 0) AS cost_usd, cost_usd IS NULL AS unpriced FROM usage WHERE at >= ? AND at < ? ${outsideJobs}`;
  const sums = `SELECT ${key} AS key, ${SUMS.join(', ')} FROM ${table} WHERE`;
  const range = `start >= ? AND start < ? ${outsideJobs}`;
  const slots = cut(whole, SLOT_MS);
  const ends = slots.ends.map((end): Piece => ({ sql: rows, range: end }));
  if (table !== 'usage_by_model') return [...ends, { sql: `${sums} ${range}`, range: slots.whole }];
  const days = cut(slots.whole, DAY_MS);
  return [
    ...ends,
    ...days.ends.map((end): Piece => ({ sql: `${sums} span_ms = ${SLOT_MS} AND ${range}`, range: end })),
    { sql: `${sums} span_ms = ${DAY_MS} AND ${range}`, range: days.whole },
  ];
}

/**
 * The part of a range that consists of whole multiples of `ms`, and what is before and after it. Any of them
 * may be empty.
 */
function cut([since, until]: Range, ms: number): { readonly whole: Range; readonly ends: readonly [Range, Range] } {
  const from = Math.ceil(since / ms) * ms;
  const to = Math.floor(until / ms) * ms;
  if (from >= to)
    return {
      whole: [until, until],
      ends: [
        [since, until],
        [until, until],
      ],
    };
  return {
    whole: [from, to],
    ends: [
      [since, from],
      [to, until],
    ],
  };
}
