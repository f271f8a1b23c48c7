/** By which keys a message that is delivered again is known. */
import { messageKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { erasedIdIfAny } from './keyed-hash.ts';
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

/** From now on it is known, also after its row is gone. */
export function remember(store: Store, message: InboundMessage): void {
  const now = store.aging.now();
  for (const [kind, key] of dedupKeys(message)) {
    store.db.run('INSERT INTO dedup (kind, key, accepted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING', kind, key, now);
  }
}
