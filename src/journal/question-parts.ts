/** The parts of the outbox that put a question of a run to a person. */
import { OWNER_PARTS, sentForId } from '../core/ids.ts';
import { expiryReason } from '../core/outbox.ts';
import { postId, reminderId } from '../core/wait.ts';
import { withdrawPart } from './settle-part.ts';
import type { Store } from './store.ts';

/**
 * The id of the wait whose question a part of this key puts; of any other part, an id that no question has. A
 * question that is asked again under its id has a suffix: see `addParts`.
 */
export function waitOfPart(key: string): string {
  return key.replace(sentForId(''), '').replace(/#\d+(?:~in\d+\.\d+)?$/, '');
}

/**
 * Its question is over: what is not sent of it, or of its reminder, is sent no more. `code`: that of the
 * question, by which one to the owner is posted.
 */
export function withdrawQuestion(store: Store, wait: string, code: string | null): void {
  const sql = "SELECT seq FROM outbox WHERE key > ? AND key < ? AND state IN ('PENDING', 'SENDING')";
  const ids = [wait, reminderId(wait)];
  // `$` follows the `#` behind which the number of a part stands.
  const ranges = [...ids, ...ids.map(sentForId)].map((id) => [`${id}#`, `${id}$`]);
  const post = `${OWNER_PARTS}${postId(code ?? '')}`;
  // `0` follows the `/` behind which stand the posts in further chats, and the reminder.
  if (code !== null) ranges.push([`${post}#`, `${post}$`], [`${post}/`, `${post}0`]);
  for (const range of ranges)
    for (const { seq } of store.db.all<{ seq: number }>(sql, ...range)) withdrawPart(store, seq, expiryReason({}));
}
