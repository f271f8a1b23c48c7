/** Jobs in a journal that is a copy: see `backupJournal`. */
import { jobRunKey } from '../core/job.ts';
import { listJobs } from './jobs.ts';
import { writeEvent } from './record.ts';
import type { Store } from './store.ts';

/** Row of `meta` in a copy, until its first start. Epoch ms. */
export const COPIED_AT = 'copied_at';

const REASON = 'restored from a backup: the original daemon may already have run the job at that time';

/**
 * In the transaction of a start. The first start of a copy passes over the due times that have come by then:
 * each counts as fired, with the reason, and the next one follows it as ever.
 */
export function skipServed(store: Store): void {
  const { db, aging } = store;
  if (db.run('DELETE FROM meta WHERE name = ?', COPIED_AT) === 0) return;
  const now = store.clock.now();
  for (const { id, enabled, nextDue: due } of listJobs(store)) {
    if (!enabled || due === undefined || due > now) continue;
    const key = jobRunKey(id, due);
    // As `addRun` does: no run can begin under this key any more.
    db.run('INSERT INTO dedup (kind, key, accepted_at) VALUES (3, ?, ?) ON CONFLICT DO NOTHING', key, aging.now());
    db.run('UPDATE job SET last_due = max(coalesce(last_due, 0), ?) WHERE id = ?', due, id);
    writeEvent(store, { type: 'job', at: now, messageId: key, job: id, state: 'skipped', reason: REASON });
  }
}
