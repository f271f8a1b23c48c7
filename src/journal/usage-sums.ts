/**
 * The roll-up tables of the ledger (migration 4 in `schema.ts`). A new row is in none of them at first: every
 * few hundred rows, all but the newest are added at once. Writing four sums with each call would cost more
 * than the call's own row.
 */
import type { Store } from './store.ts';

/** Every time zone's midnight falls on a quarter of an hour of UTC. */
export const SLOT_MS = 900_000;
export const DAY_MS = 86_400_000;
/** About so many rows at most are read one by one for a sum: well below a millisecond. */
const ROWS_BETWEEN_SUMS = 256;
const ROWS_BETWEEN_LOOKS = 64;

/** The columns that every roll-up table adds up. */
export const SUMS = ['calls', 'tokens_in', 'tokens_out', 'tokens_cached', 'tokens_cache_write', 'cost_usd', 'unpriced'] as const;

const SUMMED_UNTIL = 'usage_summed_until';
/** Rows of `usage` before this time are in the sums, the others are not. An SQL expression. */
export const SUMMED_UNTIL_SQL = `(SELECT value FROM meta WHERE name = '${SUMMED_UNTIL}')`;

const start = (ms: number): string => `at - at % ${ms}`;
const MODEL = { provider: 'provider', model: 'model', channel: 'channel', purpose: 'purpose' };
const SENDER = { session: 'session', sender: 'sender', job: "coalesce(job, '')" };
/** Each roll-up table with its key over a row of `usage`. `usage_by_model` has slots and days. */
const ROLL_UPS: readonly { readonly table: string; readonly key: Readonly<Record<string, string>> }[] = [
  { table: 'usage_total', key: { start: start(SLOT_MS) } },
  { table: 'usage_by_model', key: { span_ms: String(SLOT_MS), start: start(SLOT_MS), ...MODEL } },
  { table: 'usage_by_model', key: { span_ms: String(DAY_MS), start: start(DAY_MS), ...MODEL } },
  { table: 'usage_by_sender', key: { start: start(SLOT_MS), ...SENDER } },
];

/** Adds rows of `usage` to every roll-up table. `total()` and not `sum()`: counts may go beyond 64 bits. */
function additionsOf(condition: string): readonly string[] {
  return ROLL_UPS.map(({ table, key }) => {
    const columns = [...Object.keys(key), ...SUMS];
    const added = SUMS.map((sum) => `${sum} = ${sum} + excluded.${sum}`);
    return `INSERT INTO ${table} (${columns.join(', ')})
      SELECT ${Object.values(key).join(', ')}, count(*), total(tokens_in), total(tokens_out), total(tokens_cached),
        total(tokens_cache_write), total(cost_usd), count(*) - count(cost_usd)
      FROM usage WHERE ${condition} GROUP BY ${Object.values(key)
        .map((_, n) => n + 1)
        .join(', ')}
      ON CONFLICT DO UPDATE SET ${added.join(', ')}`;
  });
}

const ADD_ONE = additionsOf('id = ?');
const ADD_SPAN = additionsOf(`at >= ${SUMMED_UNTIL_SQL} AND at < ?`);

/** Call for a new row from before the end of the sums, in its transaction: its clock was behind. */
export function addToSums({ db }: Store, id: string): void {
  for (const sql of ADD_ONE) db.run(sql, id);
}

/** Call once for each other new row, in its transaction. */
export function keepSums({ db, usage }: Store): void {
  usage.rowsSinceLook += 1;
  if (usage.rowsSinceLook < ROWS_BETWEEN_LOOKS) return;
  usage.rowsSinceLook = 0;
  const newest = db.get<{ at: number }>(
    `SELECT at FROM usage WHERE at >= ${SUMMED_UNTIL_SQL} ORDER BY at LIMIT 1 OFFSET ${ROWS_BETWEEN_SUMS}`,
  );
  if (newest === undefined) return;
  for (const sql of ADD_SPAN) db.run(sql, newest.at);
  db.run('UPDATE meta SET value = ? WHERE name = ?', newest.at, SUMMED_UNTIL);
}
