/** Rows of `block`: see `core/people.ts`. */
import { personKey, principalOf } from '../core/ids.ts';
import type { Block, PersonRef } from '../core/people.ts';
import type { GroupRef } from '../core/person.ts';
import { writeAudit } from './audit.ts';
import type { Store } from './store.ts';

interface BlockRow {
  readonly channel: string;
  readonly sender: string;
  readonly by: string;
  readonly at: number;
  readonly reason: string | null;
}

/** A group is kept as a person of its id: no platform gives one id to both. */
export function isBlocked({ db }: Store, { channel, senderId, isGroup, chatId }: PersonRef & GroupRef): boolean {
  const keys = [senderId, ...(isGroup === true && chatId !== undefined ? [chatId] : [])];
  return keys.some((id) => db.get('SELECT 1 FROM block WHERE key = ?', personKey({ channel, senderId: id })) !== undefined);
}

/** Who is blocked already stays so, with the newer reason. */
export function addBlock({ db, clock }: Store, { channel, senderId }: PersonRef, by: string, reason: string | undefined): void {
  db.run(
    `INSERT INTO block (key, channel, sender, by, at, reason) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET by = excluded.by, at = excluded.at, reason = coalesce(excluded.reason, reason)`,
    ...[personKey({ channel, senderId }), channel, senderId, by, clock.now(), reason ?? null],
  );
}

export function removeBlock(store: Store, who: PersonRef, by: string): void {
  if (store.db.run('DELETE FROM block WHERE key = ?', personKey(who)) === 0) return;
  writeAudit(store, { kind: 'person.unblocked', subject: principalOf(who), by });
}

export function allBlocks({ db }: Store): readonly Block[] {
  return db.all<BlockRow>('SELECT * FROM block ORDER BY at, key').map(toBlock);
}

function toBlock({ channel, sender: senderId, by, at, reason }: BlockRow): Block {
  return { channel, senderId, by, at, ...(reason === null ? {} : { reason }) };
}
