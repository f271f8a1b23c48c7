import type { LeftRun } from '../core/journal.ts';
import type { ChatRow } from '../core/run.ts';
import { LIMIT } from './database.ts';
import { RUN_COLUMNS, type RunRecord, toRunRow } from './runs.ts';
import type { Store } from './store.ts';

/** More than are at work at once by default, and few enough for a platform to be told of at a start. */
export const MAX_LEFT = 30;

/**
 * Runs of messages that were begun and then cancelled from `since` to `now` (epoch ms), the newest, oldest
 * first. A cancel counts one generation more than the attempts: see `cancelRuns`.
 */
export function cancelledRuns({ db }: Store, since: number, now: number): readonly LeftRun[] {
  const sql = `SELECT ${RUN_COLUMNS} FROM run WHERE state = 'DONE' AND finished_at > ? AND finished_at <= ?
    AND outcome IN ('cancelled', 'interrupted') AND source = 'chat' AND generation > 1 ORDER BY finished_at DESC ${LIMIT}`;
  return db
    .all<RunRecord>(sql, since, now, MAX_LEFT)
    .reverse()
    .map((record) => ({ row: toRunRow(record) as ChatRow, state: 'DONE', outcome: 'cancelled' }));
}
