/** The parts of the outbox that put a question of a run to a person. */
import { sentForId } from '../core/ids.ts';
import { expiryReason } from '../core/outbox.ts';
import { reminderId } from '../core/wait.ts';
import { withdrawPart } from './settle-part.ts';
import type { Store } from './store.ts';

/**
 * The id of the wait whose question a part of this key puts; of any other part, an id that no wait has. A
 * question that is asked again under its id has a suffix: see `addParts`.
 */
export function waitOfPart(key: string): string {
  return key.replace(sentForId(''), '').replace(/#\d+(?:~in\d+\.\d+)?$/, '');
}

/** Its question is over: what is not sent of it, or of its reminder, is sent no more. */
export function withdrawQuestion(store: Store, wait: string): void {
  const sql = "SELECT seq FROM outbox WHERE key > ? AND key < ? AND state IN ('PENDING', 'SENDING')";
  const ids = [wait, reminderId(wait)];
  // `$` follows the `#` behind which the number of a part stands.
  for (const id of [...ids, ...ids.map(sentForId)])
    for (const { seq } of store.db.all<{ seq: number }>(sql, `${id}#`, `${id}$`)) withdrawPart(store, seq, expiryReason({}));
}
