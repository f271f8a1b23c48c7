import { absorbGap } from './clock-gap.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Store } from './store.ts';

const DAY_MS = 86_400_000;
const PAYLOAD_DAYS = 7;
/** An answer whose fate is unknown stays long enough to be looked into. */
const UNKNOWN_DAYS = 30;
/** Marks are an hour apart while the process lives. */
const LONGEST_GAP_MS = DAY_MS / 2;
/** Rows a transaction may delete: a few ms each, with room for accepts between two. */
const BATCH = 200;

/**
 * Housekeeping in small transactions, at start and hourly. Content of finished work goes after 7 days, dedup keys after
 * `dedupDays` of aging time; dead letters, refusal counters and the usage ledger stay. Rejects like any write.
 */
export async function pruneAll(store: Store, queue: CommitQueue, dedupDays: number): Promise<void> {
  const cut = (days: number) => store.clock.now() - days * DAY_MS;
  const aged = await queue.write(() => absorbGap(store, LONGEST_GAP_MS));
  await repeat(queue, () => pruneInbox(store, cut(PAYLOAD_DAYS)));
  await repeat(queue, () => pruneOutbox(store, 'SENT', cut(PAYLOAD_DAYS)));
  await repeat(queue, () => pruneOutbox(store, 'EXPIRED', cut(PAYLOAD_DAYS)));
  await repeat(queue, () => pruneOutbox(store, 'UNKNOWN', cut(UNKNOWN_DAYS)));
  await repeat(queue, () =>
    store.db.run(
      `DELETE FROM dedup WHERE (kind, key) IN (SELECT kind, key FROM dedup WHERE accepted_at < ? LIMIT ${BATCH})`,
      aged - dedupDays * DAY_MS,
    ),
  );
}

async function repeat(queue: CommitQueue, deleteSome: () => number): Promise<void> {
  while ((await queue.write(deleteSome)) === BATCH);
}

function pruneInbox(store: Store, before: number): number {
  const rows = store.db.all<{ seq: number }>(
    `SELECT seq FROM run WHERE state = 'DONE' AND finished_at < ? LIMIT ${BATCH}`,
    before,
  );
  for (const { seq } of rows) {
    store.db.run('DELETE FROM step WHERE run_seq = ?', seq);
    store.db.run('DELETE FROM run WHERE seq = ?', seq);
  }
  countPurged(store, 'run', 'DONE', rows.length);
  return rows.length;
}

function pruneOutbox(store: Store, state: 'SENT' | 'EXPIRED' | 'UNKNOWN', before: number): number {
  const gone = store.db.run(
    `DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE state = ? AND settled_at < ? LIMIT ${BATCH})`,
    state,
    before,
  );
  countPurged(store, 'outbox', state, gone);
  return gone;
}

function countPurged(store: Store, box: string, state: string, count: number): void {
  if (count === 0) return;
  store.db.run(
    'INSERT INTO purged (box, state, count) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
    box,
    state,
    count,
  );
}
