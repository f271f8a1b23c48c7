/** For `People.erasures`: see `core/erasure.ts`. */
import type { Erasure, Erasures } from '../core/erasure.ts';
import type { CommitQueue } from './commit-queue.ts';
import { journalError } from './database.ts';
import { ERASURES, keepErasure, openErasures } from './erase-begin.ts';
import { outboxFiles, stepFiles } from './erase-files.ts';
import { hashIds } from './erase-ids.ts';
import { hashHistory } from './erase-keys.ts';
import { About, callsOfRows, eraseRows } from './erase-rows.ts';
import { dropAllCopies } from './kept-copies.ts';
import { unflushedLines } from './session-lines.ts';
import type { Store } from './store.ts';
import { writeAnew } from './write-anew.ts';

export function erasuresOf(store: Store, queue: CommitQueue): Erasures {
  const { db } = store;
  // By key, so that a log that another process holds is waited for without all of it again.
  const rewritten = new Set<string>();
  return {
    open: () => queue.read(() => openErasures(store)),
    isTelling: (erasure) =>
      queue.read(() => {
        const about = new About(erasure);
        const rows = db.all<{ lane: string }>("SELECT lane FROM outbox WHERE state IN ('PENDING', 'SENDING')");
        return rows.some(({ lane }) => about.isOwnLane(lane));
      }),
    eraseRows: (erasure, rule) =>
      queue.write(() => {
        refuseOlder(store, erasure);
        const calls = [...(erasure.calls ?? []), ...callsOfRows(store, erasure)];
        const { files, told, said, groups } = eraseRows(store, erasure, rule);
        const more = { files: [...new Set([...erasure.files, ...files])], told: [...(erasure.told ?? []), ...told] };
        const left = { ...erasure, calls, ...more, said, groups };
        keepErasure(store, left);
        return left;
      }),
    busy: () =>
      queue.read(() => {
        const sql = `SELECT DISTINCT coalesce(workspace, session) AS session FROM run
          WHERE state IN ('NEW', 'RUNNING', 'PARKED') AND generation > 0`;
        return db.all<{ session: string }>(sql).map(({ session }) => session);
      }),
    waiting: () =>
      queue.read(() =>
        unflushedLines(store, Number.MAX_SAFE_INTEGER, 0).map(({ session, lines }) => ({
          session,
          lines: lines.map(({ line }) => line),
        })),
      ),
    outgoing: () => queue.read(() => new Set([...outboxFiles(store), ...stepFiles(store)])),
    hashHistory: (erasure, session) => queue.write(() => hashHistory(store, erasure, session)),
    hashIds: (erasure, counts) =>
      queue.write(() => {
        refuseOlder(store, erasure);
        hashIds(store, erasure, counts);
        const { key, at, stage: _, ...rest } = erasure;
        const none = { ids: [], names: [], chats: [], sessions: [], runs: [], files: [], calls: [], until: 0, by: '' };
        const found = { left: [], unsearched: [], worked: [], told: [], said: [], groups: [] };
        keepErasure(store, { ...rest, ...none, ...found, key, at, stage: 'clean', counts });
      }),
    async clean({ key }) {
      await queue.write(() => dropAllCopies(store));
      const isClean = await queue.read(() => {
        try {
          if (!rewritten.has(key)) writeAnew(db);
          rewritten.add(key);
        } catch (error) {
          // What was written by then fills the disk no longer.
          emptiesLog(store);
          throw journalError(error);
        }
        return emptiesLog(store);
      });
      if (!isClean) return false;
      // What is erased of this person later leaves copies of its own.
      rewritten.delete(key);
      await queue.write(() => {
        if (openErasures(store).some((one) => one.key === key && one.stage === 'words')) throw new Error(AGAIN);
        db.run('DELETE FROM meta WHERE name = ?', ERASURES + key);
      });
      return true;
    },
  };
}

const AGAIN = 'it was asked for again meanwhile, so all of it is done again';

/** What was found since is known to the one that was begun last. */
function refuseOlder(store: Store, { key, at, until }: Erasure): void {
  const stored = openErasures(store).find((one) => one.key === key);
  if (stored && (stored.at !== at || stored.until !== until)) throw new Error(AGAIN);
}

/** The log holds earlier versions of pages. False = a reader of another process is in the way. */
function emptiesLog({ db }: Store): boolean {
  const state = db.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)');
  return state?.busy === 0;
}
