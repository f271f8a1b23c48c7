/** Words joined to the request of another person (queue mode collect), once that ends unanswered. */
import { messageKey, principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { MERGED } from '../core/queueing.ts';
import type { EndedRun } from '../core/run.ts';
import { isBlocked } from './blocks.ts';
import type { Change } from './commit-queue.ts';
import { AS_SAID } from './notes.ts';
import { recordedSteps } from './steps.ts';
import type { Store } from './store.ts';

/**
 * What other people said in requests of this person is answered by itself, where no model had answered these:
 * after that a tool may have run for it.
 */
export function reopenMerged(store: Store, principal: string, ended: readonly EndedRun[], change: Change): readonly EndedRun[] {
  for (const { row } of ended) {
    const isRead = recordedSteps(store, row.seq).some(({ kind }) => kind !== 'note');
    const others = (row.message?.queued ?? []).filter((one) => principalOf(one) !== principal);
    if (!isRead) reopenQueued(store, row.key, others, change);
  }
  return ended;
}

/**
 * Rows whose words this run took up wait anew. Not where their author took them back or corrected
 * them, or was shut out since.
 */
export function reopenQueued(store: Store, key: string, queued: readonly InboundMessage[], change: Change): void {
  for (const one of queued) {
    if (isBlocked(store, one)) continue;
    const found = store.db.get<{ lane: string }>(
      `UPDATE run SET state = 'NEW', outcome = NULL, finished_at = NULL
       WHERE key = ? AND state = 'DONE' AND outcome = ? AND ${AS_SAID}
         AND NOT EXISTS (SELECT 1 FROM audit WHERE kind = 'person.revoked' AND subject = run.principal AND at >= run.accepted_at)
       RETURNING lane`,
      ...[messageKey(one), `${MERGED}${key}`],
    );
    if (!found) continue;
    change.active += 1;
    change.woken.add(found.lane);
  }
}
