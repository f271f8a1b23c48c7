/** Rows of `block`, and reads about people: see `core/people.ts`. */
import { setImmediate as nextTick } from 'node:timers/promises';
import { personKey, principalOf } from '../core/ids.ts';
import type { Block, People, PersonRef } from '../core/people.ts';
import { readAudit, verifyAudit, writeAudit } from './audit.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Store } from './store.ts';

/** Chats looked through before others have their turn. */
const BATCH = 500;

interface BlockRow {
  readonly channel: string;
  readonly sender: string;
  readonly by: string;
  readonly at: number;
  readonly reason: string | null;
}

export function isBlocked({ db }: Store, who: PersonRef): boolean {
  return db.get('SELECT 1 FROM block WHERE key = ?', personKey(who)) !== undefined;
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

/** For `OpenedJournal.people`. */
export function peopleOf(store: Store, queue: CommitQueue): People {
  return {
    blocks: () => queue.read(() => store.db.all<BlockRow>('SELECT * FROM block ORDER BY at, key').map(toBlock)),
    async seen() {
      const found = new Map<string, number>();
      for (let after: string | undefined = ''; after !== undefined; ) {
        const from: string = after;
        const rows = await queue.read(() => someChats(store, from));
        for (const { principal, last_in: at } of rows)
          if (principal !== null && at !== null && at > (found.get(principal) ?? 0)) found.set(principal, at);
        after = rows.length < BATCH ? undefined : rows.at(-1)?.key;
        await nextTick();
      }
      return found;
    },
    audit: (query) => queue.read(() => readAudit(store, query)),
    verifyAudit: () => queue.read(() => verifyAudit(store)),
  };
}

function toBlock({ channel, sender: senderId, by, at, reason }: BlockRow): Block {
  return { channel, senderId, by, at, ...(reason === null ? {} : { reason }) };
}

interface SeenRow {
  readonly key: string;
  readonly principal: string | null;
  readonly last_in: number | null;
}

function someChats({ db }: Store, after: string): readonly SeenRow[] {
  const sql = `SELECT key, address ->> '$.principal' AS principal, last_in FROM chat WHERE key > ? ORDER BY key LIMIT ${BATCH}`;
  return db.all<SeenRow>(sql, after);
}
