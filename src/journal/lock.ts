import { access, chmod, constants, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { isErrno } from '../lib/errno.ts';
import { giveToOwner } from '../lib/give-to-owner.ts';
import { closeToOthers, dataDirError, ensureDataDir } from './data-dir.ts';
import { Database, isBusy } from './database.ts';

/**
 * Makes this process the only daemon of the data directory, until disposed or dead (F42). The lock is an
 * exclusive transaction held open on `lock.db`, that is an OS lock: a SIGKILL frees it at once, and no stale
 * file can hold it.
 *
 * Rejects with GH1201 when another process has it (its pid and age come from `lock.json`, which is only a
 * note and is not believed when its process is gone), GH1202 when the directory cannot be made or written, or
 * cannot be closed to other users (`closeToOthers`, which tells `warn`).
 * Commands that only look at the journal do not need it. Root's `lock.db` is given to the directory's owner.
 * Nothing may open it by other means in this process: closing that descriptor frees the lock.
 */
export async function lockDataDir(
  dir: string,
  clock: Clock,
  warn: (detail: string) => void = () => undefined,
): Promise<AsyncDisposable> {
  await ensureDataDir(dir);
  const note = join(dir, 'lock.json');
  const db = await acquire(dir, note, clock);
  let released: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    try {
      // Before the lock goes: a successor's note must not be removed.
      await rm(note, { force: true });
    } finally {
      db.close();
    }
  };
  try {
    await closeToOthers(dir, warn);
    await writeNote(note, { pid: process.pid, since: clock.now() });
  } catch (error) {
    db.close();
    throw dataDirError(dir, error);
  }
  return {
    [Symbol.asyncDispose]: () => {
      released ??= release();
      return released;
    },
  };
}

async function acquire(dir: string, note: string, clock: Clock): Promise<Database> {
  const path = join(dir, 'lock.db');
  let db: Database | undefined;
  try {
    await mustBeWritableIfPresent(path);
    db = new Database(path, { busyMs: 0 });
    // A rollback journal: in WAL mode even an exclusive transaction lets readers and their locks in.
    db.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    await chmod(path, 0o600);
    await giveToOwner(dir, path);
    return db;
  } catch (error) {
    db?.close();
    if (isBusy(error)) throw await alreadyLocked(dir, note, clock);
    throw dataDirError(dir, error);
  }
}

/** SQLite falls back to a read-only connection, whose "exclusive" transaction excludes no other one. */
async function mustBeWritableIfPresent(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}

interface LockNote {
  readonly pid: number;
  readonly since: number;
}

/**
 * Written beside and renamed, so that a reader never sees half of it. The old note goes first: a full disk
 * must not leave it.
 */
async function writeNote(path: string, note: LockNote): Promise<void> {
  await rm(path, { force: true });
  const draft = `${path}.new`;
  try {
    await writeFile(draft, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    // The lock itself is held; without room for the note only its courtesy line is missing. The journal
    // reports the full disk.
    if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error;
  }
}

async function alreadyLocked(dir: string, path: string, clock: Clock): Promise<GatehouseError> {
  const note = await readNote(path);
  const who = note && isAlive(note.pid) ? ` (pid ${note.pid}, running for ${age(clock.now() - note.since)})` : '';
  return new GatehouseError('GH1201', `another gatehouse${who} uses ${dir}`);
}

async function readNote(path: string): Promise<LockNote | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EACCES')) return undefined;
    throw error;
  }
  return parseNote(text);
}

function parseNote(text: string): LockNote | undefined {
  const match = /^\{"pid":(\d+),"since":(-?\d+(?:\.\d+)?)\}$/.exec(text.trim());
  if (!match?.[1] || !match[2]) return undefined;
  return { pid: Number(match[1]), since: Number(match[2]) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, 'EPERM'); // alive, but another user's
  }
}

function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
