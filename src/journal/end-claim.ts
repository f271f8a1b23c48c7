import type { Claim } from '../core/commit.ts';
import { addReport } from './children.ts';
import type { Change } from './commit-queue.ts';
import { noteAnswered } from './during.ts';
import { noteJobEnd } from './jobs.ts';
import { reopenNotes } from './notes.ts';
import { writeEvent } from './record.ts';
import { claimedSession, KEPT_FROM, type RunRecord, sourceOf } from './runs.ts';
import type { Store } from './store.ts';
import { endedResult, parkRun, settleRun } from './waits.ts';

type Origin = Pick<RunRecord, 'source' | 'origin'>;

/**
 * The session of the run that writes, with its end where the claim names one. Undefined = the claim no longer
 * stands, and nothing was written.
 */
export function endClaim(store: Store, { seq, generation, end }: Claim, change: Change): string | undefined {
  if (!end) return claimedSession(store, seq, generation);
  if (end.state === 'PARKED') return parkRun(store, { seq, generation, end }, change);
  const { state, outcome, ms = 0, taint = 0, result, notes } = end;
  // Before the write, where RETURNING would fill a table of its own.
  const row = store.db.get<
    { session: string; key: string; channel: string | null; parent: number | null; beside: string | null } & Origin
  >(
    `SELECT session, key, coalesce(input ->> '$.channel', reply_to ->> '$.channel') AS channel, parent, source, origin,
       input ->> '$.beside' AS beside
     FROM run WHERE seq = ? AND generation = ? AND state = 'RUNNING'`,
    ...[seq, generation],
  );
  if (!row) return undefined;
  store.db.run(
    `UPDATE run SET state = ?1, outcome = ?2, finished_at = ?3, boot_id = NULL, ran_ms = ran_ms + ?4, taint = taint | ?5, result = ?6,
       ${KEPT_FROM} WHERE seq = ?7`,
    ...[state, outcome, store.clock.now(), Math.round(ms), taint, result ? JSON.stringify(result) : null, seq],
  );
  change.active -= 1;
  const { session, key, channel, beside } = row;
  if (row.source === 'chat') reopenNotes(store, { seq, key }, notes, change);
  if (beside !== null && state === 'DONE') noteAnswered(store, key, beside);
  const source = row.source === 'job' && sourceOf(row, `run ${seq}`);
  if (source && source.kind === 'job') noteJobEnd(store, { id: source.job, due: source.due }, outcome);
  writeEvent(store, {
    ...{ type: 'finished', at: store.clock.now(), messageId: key, session },
    ...(channel === null ? {} : { channel }),
    ...{ outcome, ms: Math.round(ms) },
  });
  if (row.parent !== null) {
    const value = result ?? endedResult(outcome);
    settleRun(store, key, value, change);
    addReport(store, key, value, change);
  }
  return session;
}
