import type { JournalCounts } from '../core/journal.ts';
import type { OutboxState } from '../core/outbox.ts';
import type { RunState } from '../core/run.ts';
import type { Store } from './store.ts';

/** Rows there are plus rows purged, so that a total never falls because of housekeeping. */
export function countAll(store: Store): JournalCounts {
  const inbox: Record<RunState, number> = { NEW: 0, RUNNING: 0, PARKED: 0, DONE: 0, DEAD: 0 };
  const outbox: Record<OutboxState, number> = { PENDING: 0, SENDING: 0, SENT: 0, UNKNOWN: 0, DEAD: 0, EXPIRED: 0 };
  for (const { state, count } of tally<RunState>(store, 'run')) inbox[state] += count;
  for (const { state, count } of tally<OutboxState>(store, 'outbox')) outbox[state] += count;
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

function tally<State extends string>(store: Store, box: 'run' | 'outbox'): { state: State; count: number }[] {
  return store.db.all(
    `SELECT state, count(*) AS count FROM ${box} GROUP BY state
     UNION ALL SELECT state, count FROM purged WHERE box = '${box}'`,
  );
}

/** NEW + RUNNING rows on disk: what the high-water mark is about. */
export function countActive(store: Store): number {
  const count = (state: 'NEW' | 'RUNNING') =>
    store.db.get<{ count: number }>(`SELECT count(*) AS count FROM run WHERE state = '${state}'`)?.count ?? 0;
  return count('NEW') + count('RUNNING');
}
