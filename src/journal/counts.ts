import type { JournalCounts } from '../core/journal.ts';
import type { OutboxState } from '../core/outbox.ts';
import type { RunState } from '../core/run.ts';
import type { Store } from './store.ts';

/** Rows there are plus rows purged, so that a total never falls because of housekeeping. */
export function countAll(store: Store): JournalCounts {
  const inbox: Record<RunState, number> = { NEW: 0, RUNNING: 0, PARKED: 0, DONE: 0, DEAD: 0 };
  const outbox: Record<OutboxState, number> = { PENDING: 0, SENDING: 0, SENT: 0, UNKNOWN: 0, DEAD: 0, EXPIRED: 0 };
  for (const { state, count } of tally<RunState>(store, 'run', 'finished_at', OPEN_RUNS)) inbox[state] += count;
  for (const { state, count } of tally<OutboxState>(store, 'outbox', 'settled_at', OPEN_PARTS)) outbox[state] += count;
  const oldest = store.db.get<{ at: number }>(
    "SELECT accepted_at AS at FROM run WHERE seq = (SELECT min(seq) FROM run WHERE state = 'NEW')",
  )?.at;
  return {
    inbox,
    outbox,
    ...(oldest === undefined ? {} : { oldestNewAt: oldest }),
    refused: store.db
      .all<{ channel: string; reason: string; count: number }>(
        'SELECT channel, reason, count FROM refusal ORDER BY channel, reason',
      )
      .map((row) => ({ ...row })),
    unsent: store.db
      .all<{ channel: string; count: number }>(
        "SELECT key AS channel, messages AS count FROM temp.load WHERE kind = 'outbox' AND messages > 0 ORDER BY key",
      )
      .map((row) => ({ ...row })),
  };
}

/** States of rows that came to no end yet, which have an index each. */
const OPEN_RUNS: readonly RunState[] = ['NEW', 'RUNNING', 'PARKED'];
const OPEN_PARTS: readonly OutboxState[] = ['PENDING', 'SENDING'];

/** From indices alone: `ended` is the column that a row has from its end on. */
function tally<State extends string>(
  store: Store,
  box: 'run' | 'outbox',
  ended: string,
  open: readonly State[],
): { state: State; count: number }[] {
  const counts = open.map((state) => `SELECT '${state}' AS state, count(*) AS count FROM ${box} WHERE state = '${state}'`);
  return store.db.all(
    `${counts.join(' UNION ALL ')}
     UNION ALL SELECT state, count(*) FROM ${box} WHERE ${ended} IS NOT NULL GROUP BY state
     UNION ALL SELECT state, count FROM purged WHERE box = '${box}'`,
  );
}

/** NEW + RUNNING rows on disk: what the high-water mark is about. */
export function countActive(store: Store): number {
  const count = (state: 'NEW' | 'RUNNING') =>
    store.db.get<{ count: number }>(`SELECT count(*) AS count FROM run WHERE state = '${state}'`)?.count ?? 0;
  return count('NEW') + count('RUNNING');
}
