import { access, chmod, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../core/ports.ts';
import { giveToOwner } from './give-to-owner.ts';

/** How often another process's lock is looked at. Its holders write one small file: few waits take longer. */
const LOOK_EVERY_MS = 20;

export interface FileLockOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Waits until this holder alone has the lock at `path`, among all processes and within this one, and holds it
 * until disposed or dead. The lock is an exclusive transaction held open on an empty SQLite file: an OS lock,
 * which a SIGKILL frees at once, so that no stale file can hold it. The directory must exist; the file stays,
 * as that of the directory's user. Rejects with `signal.reason`, or with the system's error when the file
 * cannot be written. Nothing may open `path` by other means: closing that descriptor frees the lock.
 */
export async function lockFile(path: string, { clock, signal }: FileLockOptions): Promise<Disposable> {
  signal.throwIfAborted();
  for (;;) {
    const held = await tryLock(path);
    if (held) return held;
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

async function tryLock(path: string): Promise<Disposable | undefined> {
  await mustBeWritableIfPresent(path);
  // Waiting inside SQLite would block the event loop.
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    // A rollback journal: in WAL mode even an exclusive transaction lets readers and their locks in.
    db.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    await chmod(path, 0o600);
    await giveToOwner(dirname(path), path);
  } catch (error) {
    db.close();
    // 5 is SQLITE_BUSY (https://www.sqlite.org/rescode.html#busy).
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return undefined;
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      if (db.isOpen) db.close();
    },
  };
}

/** SQLite falls back to a read-only connection, whose "exclusive" transaction excludes nobody. */
async function mustBeWritableIfPresent(path: string): Promise<void> {
  await access(dirname(path), constants.W_OK | constants.X_OK);
  try {
    await access(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
