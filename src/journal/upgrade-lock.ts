import { rmSync } from 'node:fs';
import { GatehouseError } from '../core/errors.ts';
import { Database, isBusy } from './database.ts';

/** Longer than an upgrade of millions of rows takes. */
const PATIENCE_MS = 600_000;
const LOOK_MS = 50;

/**
 * One process at a time brings a file up to date; the others wait before they open it. A connection to the
 * old file that lived on beside the new one would find the new one's log under the name of its own, and would
 * remove it on closing. The lock is SQLite's on a file of its own, so that it ends with its process. Rejects
 * with GH1301 after ten minutes.
 */
export async function takeUpgradeLock(path: string, patienceMs = PATIENCE_MS): Promise<Disposable> {
  const file = `${path}.upgrade-lock`;
  const until = performance.now() + patienceMs;
  for (;;) {
    const db = tryLock(file);
    if (db) {
      return {
        [Symbol.dispose]: () => {
          // While it is still held: who waits for it looks at the journal again, and finds it up to date.
          rmSync(file, { force: true });
          db.close();
        },
      };
    }
    if (performance.now() > until)
      throw new GatehouseError('GH1301', `another process has been bringing ${path} up to date for too long`, {
        hint: 'stop the other gatehouse, then start again; nothing was changed',
      });
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function tryLock(file: string): Database | undefined {
  const db = new Database(file, { busyMs: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db.close();
    if (!isBusy(error)) throw error;
    return undefined;
  }
}
