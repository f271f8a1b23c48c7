/** For `People.erasures`: see `core/erasure.ts`. */
import type { Erasures } from '../core/erasure.ts';
import type { CommitQueue } from './commit-queue.ts';
import { journalError } from './database.ts';
import { ERASURES, keepErasure, openErasures } from './erase-begin.ts';
import { hashIds } from './erase-ids.ts';
import { About, callsOfRows, eraseRows, outboxFiles, stepFiles } from './erase-rows.ts';
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
        const calls = [...(erasure.calls ?? []), ...callsOfRows(store, erasure)];
        const { files, told } = eraseRows(store, erasure, rule);
        const more = { files: [...new Set([...erasure.files, ...files])], told: [...(erasure.told ?? []), ...told] };
        const left = { ...erasure, calls, ...more };
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
    hashIds: (erasure, counts) =>
      queue.write(() => {
        hashIds(store, erasure, counts);
        const { key, at, stage: _, ...rest } = erasure;
        const none = { ids: [], names: [], chats: [], sessions: [], runs: [], files: [], calls: [], until: 0, by: '' };
        keepErasure(store, { ...rest, ...none, left: [], unsearched: [], worked: [], told: [], key, at, stage: 'clean', counts });
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
      await queue.write(() => db.run('DELETE FROM meta WHERE name = ?', ERASURES + key));
      return true;
    },
  };
}

/** The log holds earlier versions of pages. False = a reader of another process is in the way. */
function emptiesLog({ db }: Store): boolean {
  const state = db.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)');
  return state?.busy === 0;
}
