// An older file becomes a file of the newest version:
//   room? → told → locked for us alone → VACUUM INTO <path>.upgrade → the new tables there → sync
//   → two renames
// The old file is only read. It gets the name of the copy, and the new file gets its name: one copy in all.
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import { Database, isBusy } from './database.ts';

/** An older file is about to be brought up to date; `copy` is the path of the file as it was. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
  readonly copy: string;
}

/** One step of an upgrade has ended, e.g. `{ step: 'copied', n: 1, of: 4, tookMs: 12_000 }`. */
export interface UpgradeProgress {
  readonly step: string;
  readonly n: number;
  readonly of: number;
  /** Since the upgrade began. */
  readonly tookMs: number;
}

export interface UpgradeOptions {
  /** Told after each step, once the upgrade has taken a second. */
  readonly onProgress?: (progress: UpgradeProgress) => void;
  /** Bytes that this user may still write in a directory. Default: `statfs`. */
  readonly freeBytes?: (dir: string) => number;
  /** Ms, never going back. */
  readonly monotonic?: () => number;
  /** How long another process may keep the file open before this one gives up. Default 5,000 ms. */
  readonly aloneMs?: number;
  /** Gives a file a second name. Default: `linkSync`. */
  readonly link?: (path: string, second: string) => void;
}

export interface UpgradePlan extends UpgradeOptions {
  readonly from: number;
  readonly migrations: readonly string[];
  readonly onUpgrade: (about: Upgrade) => void;
}

/** The new file holds the old tables and the new ones for a while. */
const ROOM = 2.2;
const QUIET_MS = 1_000;
/** Large enough that a million rows are sorted in memory and given back afterwards. */
const CACHE_KIB = 65_536;

/**
 * Makes a file of the newest version beside the old one, puts it in its place, and connects `db` to it. The
 * old file stays as `<path>.v<version>.bak`, which is what a downgrade goes back to. Killed anywhere, it
 * leaves the old file under its name, and the next start does it all again. A file that another process has
 * replaced meanwhile is left alone. Throws GH1301 where there is not room enough, or while another process
 * has the file open; nothing is changed then.
 */
export function upgradeFile(db: Database, plan: UpgradePlan): void {
  const { from, migrations, onUpgrade } = plan;
  refuseWithoutRoom(db.path, plan.freeBytes ?? freeBytes);
  const copy = `${db.path}.v${from}.bak`;
  onUpgrade({ from, to: migrations.length, copy });
  try {
    takeAlone(db, plan.aloneMs ?? 5_000);
    if (!db.isReplaced) replace(db, copy, plan);
  } finally {
    db.reopen();
  }
}

function replace(db: Database, copy: string, plan: UpgradePlan): void {
  const draft = `${db.path}.upgrade`;
  const second = `${copy}.partial`;
  const clear = () => {
    for (const path of [draft, `${draft}-journal`, second]) rmSync(path, { force: true });
  };
  const tell = progressOf(plan);
  try {
    clear();
    closeSync(openSync(draft, 'wx', 0o600));
    db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    vacuumInto(db, draft);
    tell('copied');
    fillNew(draft, plan, tell);
    syncPath(draft);
    // Of the old file, which is whole without: under the name they would be taken for the new one's.
    for (const suffix of ['-journal', '-wal', '-shm']) rmSync(`${db.path}${suffix}`, { force: true });
    keepOld(db, copy, plan.link ?? linkSync);
    renameSync(draft, db.path);
    syncPath(dirname(db.path));
    tell('in its place');
  } finally {
    clear();
  }
}

/** Nothing is lost with this file, so it needs neither a journal nor a sync before its end. */
function fillNew(draft: string, { from, migrations }: UpgradePlan, tell: (step: string) => void): void {
  using db = new Database(draft, { busyMs: 0 });
  db.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB}`);
  for (let version = from; version < migrations.length; version += 1) {
    db.exec(`BEGIN; ${migrations[version]}; COMMIT`);
    tell(`version ${version + 1}`);
  }
  db.exec(`PRAGMA user_version = ${migrations.length}; PRAGMA incremental_vacuum`);
}

/** A second name, because the first must lead to a whole journal at every moment. */
function keepOld(db: Database, copy: string, link: (path: string, second: string) => void): void {
  const second = `${copy}.partial`;
  try {
    link(db.path, second);
  } catch {
    // Not every file system knows second names. A file that is open here must not be copied by other means
    // than SQLite's: closing its descriptor would drop the lock.
    closeSync(openSync(second, 'w', 0o600));
    vacuumInto(db, second);
    syncPath(second);
  }
  renameSync(second, copy);
  syncPath(dirname(copy));
}

/**
 * Leaves WAL mode, which works only while no other connection is open, and keeps the lock: no other process
 * can commit to a file that is about to lose its name. Two processes that want this at once give way to each
 * other by letting go in between.
 */
function takeAlone(db: Database, waitMs: number): void {
  const until = performance.now() + waitMs;
  for (;;) {
    const busy = tryAlone(db);
    if (!busy) return;
    if (performance.now() > until) throw inUse(db.path, busy.cause);
    db.reopen();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20 + Math.random() * 80);
  }
}

function tryAlone(db: Database): { readonly cause: unknown } | undefined {
  try {
    // A wait here would be one with our own lock held, which is what the other may be waiting for.
    db.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
  } catch (error) {
    if (!isBusy(error)) throw error;
    return { cause: error };
  }
  // Another one may have gone back to WAL mode between the two.
  const mode = db.get<{ journal_mode: string }>('PRAGMA journal_mode')?.journal_mode;
  return mode === 'delete' ? undefined : { cause: undefined };
}

function inUse(path: string, cause: unknown): GatehouseError {
  return new GatehouseError('GH1301', `${path} must be brought up to date, but another process has it open`, {
    hint: 'stop the other gatehouse, then start again; nothing was changed',
    cause,
  });
}

function refuseWithoutRoom(path: string, free: (dir: string) => number): void {
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const needed = Math.ceil((statSync(path).size + wal) * ROOM);
  const dir = dirname(path);
  const there = free(dir);
  if (there >= needed) return;
  const about = `bringing ${basename(path)} up to date needs ${megabytes(needed)} MB free in ${dir}; there are ${megabytes(there)}`;
  throw new GatehouseError('GH1301', about, { hint: 'free disk space, then start again; nothing was changed' });
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1024 / 1024);
}

function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

function progressOf({ from, migrations, onProgress, monotonic = () => performance.now() }: UpgradePlan): (step: string) => void {
  const startedAt = monotonic();
  const of = migrations.length - from + 2;
  let n = 0;
  return (step) => {
    n += 1;
    const tookMs = monotonic() - startedAt;
    if (tookMs >= QUIET_MS) onProgress?.({ step, n, of, tookMs });
  };
}

function vacuumInto(db: Database, path: string): void {
  db.exec(`VACUUM INTO '${path.replaceAll("'", "''")}'`);
}

function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
