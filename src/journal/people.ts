/** Reads about people: see `core/people.ts`. */
import { setImmediate as nextTick } from 'node:timers/promises';
import type { People } from '../core/people.ts';
import { readAudit, verifyAudit } from './audit.ts';
import { allBlocks } from './blocks.ts';
import type { CommitQueue } from './commit-queue.ts';
import { erasuresOf } from './erasures.ts';
import { allLinks, idsOf, mayTryLink } from './links.ts';
import { rowsOf } from './person-rows.ts';
import type { Store } from './store.ts';

/** Chats looked through before others have their turn. */
const BATCH = 500;

/** For `OpenedJournal.people`. */
export function peopleOf(store: Store, queue: CommitQueue): People {
  return {
    blocks: () => queue.read(() => allBlocks(store)),
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
    links: () => queue.peek(() => allLinks(store)),
    idsOf: (who) => queue.peek(() => idsOf(store, who)),
    mayTryLink: (who) => queue.peek(() => mayTryLink(store, who)),
    erasures: erasuresOf(store, queue),
    rows: (ids) => queue.read(() => rowsOf(store, ids)),
  };
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
