/** By which keys a message that is delivered again is known. */
import { messageKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { erasedId, erasedIdIfAny } from './keyed-hash.ts';
import type { Store } from './store.ts';

/** The second key is its own space: a Message-ID never equals a transport id by accident. */
const PRIMARY = 0;
const SECONDARY = 1;

function dedupKeys(message: InboundMessage): readonly (readonly [kind: number, key: string])[] {
  const { channel, account, platformId, secondaryId } = message;
  const primary = [PRIMARY, messageKey({ channel, account, platformId })] as const;
  if (secondaryId === undefined) return [primary];
  return [primary, [SECONDARY, messageKey({ channel, account, platformId: secondaryId })]];
}

export function isKnown(store: Store, message: InboundMessage): boolean {
  return dedupKeys(message).some(([kind, key]) => {
    const has = (one: string) => store.db.get('SELECT 1 FROM dedup WHERE kind = ? AND key = ?', kind, one) !== undefined;
    if (has(key)) return true;
    // Of a person who was erased since: a platform may repeat that message too.
    const hash = erasedIdIfAny(store, key);
    return hash !== undefined && has(hash);
  });
}

/**
 * Puts a keyed hash in place of the second key of the message of a run: that of a mail names the host it came
 * from.
 */
export function hashSecondKey(store: Store, seq: number): void {
  const sql = `SELECT input ->> '$.channel' AS channel, input ->> '$.account' AS account, input ->> '$.secondaryId' AS platformId
    FROM run WHERE seq = ? AND input ->> '$.secondaryId' IS NOT NULL`;
  const found = store.db.get<{ channel: string; account: string; platformId: string }>(sql, seq);
  if (!found) return;
  const key = messageKey(found);
  store.db.run('UPDATE OR REPLACE dedup SET key = ? WHERE kind = ? AND key = ?', erasedId(store, key), SECONDARY, key);
}

/** From now on it is known, also after its row is gone. */
export function remember(store: Store, message: InboundMessage): void {
  const now = store.aging.now();
  for (const [kind, key] of dedupKeys(message)) {
    store.db.run('INSERT INTO dedup (kind, key, accepted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING', kind, key, now);
  }
}
