/** Sums of the ledger: from the roll-up tables, and from the rows that are in none of them yet. */
import type { SpendingGroup, SpendingGroupKey, SpendingQuery } from '../core/ledger.ts';
import type { Store } from './store.ts';
import { DAY_MS, SLOT_MS, SUMMED_UNTIL_SQL, SUMS } from './usage-sums.ts';

const MODEL_KEY = "provider || '/' || model";

/** Where a key is summed up, and the key as an SQL expression there and in `usage`. Each day is a query. */
const KEYS: Readonly<Record<SpendingGroupKey, { readonly table: string; readonly key: string }>> = {
  day: { table: 'usage_total', key: "''" },
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

/** Ordered by key. An unknown cost is in no sum, only in `unpriced`. */
export function spendingOf(
  store: Store,
  { since, until = Number.MAX_SAFE_INTEGER, by }: SpendingQuery,
): readonly SpendingGroup[] {
  return by === 'day' ? daysOf(store, [since, until]) : groupsOf(store, by, [since, until]);
}

/** Days with calls, cut at midnight in the time zone of the process, as everywhere else a day is cut. */
function daysOf(store: Store, [since, until]: Range): readonly SpendingGroup[] {
  const days: SpendingGroup[] = [];
  const firstCall = (from: number): number | null | undefined =>
    store.db.get<{ at: number | null }>('SELECT min(at) AS at FROM usage WHERE at >= ? AND at < ?', from, until)?.at;
  for (let at = firstCall(since); typeof at === 'number'; ) {
    const date = new Date(at);
    const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
    const [start, end] = [new Date(year, month, day).getTime(), new Date(year, month, day + 1).getTime()];
    const key = [String(year).padStart(4, '0'), ...[month + 1, day].map((part) => String(part).padStart(2, '0'))].join('-');
    days.push(...groupsOf(store, 'day', [Math.max(start, since), Math.min(end, until)]).map((sums) => ({ ...sums, key })));
    at = firstCall(end);
  }
  return days;
}

/** Sums are doubles: exact to far below a cent, and no count is too large for one. */
function groupsOf(store: Store, by: SpendingGroupKey, range: Range): readonly SpendingGroup[] {
  const pieces = piecesOf(by, range);
  const rows = pieces.map(({ sql }) => sql).join(' UNION ALL ');
  const values = pieces.flatMap((piece) => piece.range);
  return sumsOf(store, KEYS[by].table, rows, values).map(
    ({ tokens_in, tokens_out, tokens_cached, tokens_cache_write, cost_usd, ...rest }) => ({
      ...rest,
      tokensIn: tokens_in,
      tokensOut: tokens_out,
      tokensCached: tokens_cached,
      tokensCacheWrite: tokens_cache_write,
      costUsd: cost_usd,
    }),
  );
}

/**
 * Adds up the rows of each key. There are many rows per sender and day; SQLite would sort them in memory
 * (20 MB on a busy day, which the process keeps), so senders are added up here.
 */
function sumsOf({ db }: Store, table: string, rows: string, values: readonly number[]): readonly SpendingRow[] {
  if (table !== 'usage_by_sender') {
    const totals = SUMS.map((sum) => `total(${sum}) AS ${sum}`).join(', ');
    return db.all<SpendingRow>(`SELECT key, ${totals} FROM (${rows}) GROUP BY key ORDER BY key`, ...values);
  }
  const byKey = new Map<string, { -readonly [name in keyof SpendingRow]: SpendingRow[name] }>();
  const doubles = SUMS.map((sum) => `CAST(${sum} AS REAL) AS ${sum}`).join(', ');
  for (const row of db.each<SpendingRow>(`SELECT key, ${doubles} FROM (${rows})`, ...values)) {
    const sums = byKey.get(row.key);
    if (sums) for (const sum of SUMS) sums[sum] += row[sum];
    else byKey.set(row.key, { ...row });
  }
  return [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

/**
 * Whole days from their sums, what is left at both ends from those of quarter hours, what is left of that
 * from the rows, and the newest rows by themselves: they are in no sum yet.
 */
function piecesOf(by: SpendingGroupKey, whole: Range): readonly Piece[] {
  const { table, key } = KEYS[by];
  const outsideJobs = by === 'job' ? "AND job <> ''" : '';
  const rows = (from: string): string => `SELECT ${key} AS key, 1 AS calls, tokens_in, tokens_out, tokens_cached,
    tokens_cache_write, coalesce(cost_usd, 0) AS cost_usd, cost_usd IS NULL AS unpriced
    FROM usage WHERE at >= ${from} AND at < ? ${outsideJobs}`;
  const sums = `SELECT ${key} AS key, ${SUMS.join(', ')} FROM ${table} WHERE`;
  const range = `start >= ? AND start < ? ${outsideJobs}`;
  const slots = cut(whole, SLOT_MS);
  const ofRows = [
    ...slots.ends.map((end): Piece => ({ sql: rows('?'), range: end })),
    { sql: rows(`max(?, ${SUMMED_UNTIL_SQL})`), range: slots.whole },
  ];
  if (table !== 'usage_by_model') return [...ofRows, { sql: `${sums} ${range}`, range: slots.whole }];
  const days = cut(slots.whole, DAY_MS);
  return [
    ...ofRows,
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
