import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { Journal } from '../core/journal.ts';
import type { PairingStore } from '../core/pairing.ts';
import type { People } from '../core/people.ts';
import type { Pins } from '../core/pin.ts';
import type { Clock } from '../core/ports.ts';
import type { Remains, RemainsOf, RunRow } from '../core/run.ts';
import type { StepRecord } from '../core/step.ts';
import { AgingClock } from './aging.ts';
import { backupJournal } from './backup.ts';
import { CommitQueue } from './commit-queue.ts';
import { countActive } from './counts.ts';
import { dataDirError, ensureDataDir, unwritableError } from './data-dir.ts';
import { createPrivateFile, Database, isFull, journalError, sqliteCode } from './database.ts';
import { refuseEmptied } from './emptied.ts';
import type { FileState } from './file-check.ts';
import { FileWatch } from './file-watch.ts';
import { KnownChats } from './known-chats.ts';
import { recountLoad, watchLoad } from './load.ts';
import { OutsideChanges } from './outside-changes.ts';
import { SqlitePairingStore } from './pairing.ts';
import { peopleOf } from './people.ts';
import { pinsOf } from './pins.ts';
import { type ForgetTask, pruneAll } from './prune.ts';
import { RecordWriter } from './record-writer.ts';
import { Room } from './room.ts';
import { MIGRATIONS, migrate, refuseNewer, schemaVersion } from './schema.ts';
import { SqliteJournal } from './sqlite-journal.ts';
import type { Store } from './store.ts';
import type { Upgrade, UpgradeProgress } from './upgrade.ts';
import { takeUpgradeLock } from './upgrade-lock.ts';
import { WalSync } from './wal-sync.ts';

export interface JournalOptions {
  /** The data directory; made (owner only) when absent. The file is `journal.db` in it. */
  readonly dir: string;
  readonly clock: Clock;
  /**
   * Turns the steps of a run that is cancelled or given up into lines. Absent in a process that ends no run.
   */
  readonly remains?: RemainsOf;
  /** NEW + RUNNING rows above which `room()` is 0. Default 10,000. */
  readonly highWater?: number;
  /** How long a message is recognised when it comes again. Default 30 days. */
  readonly dedupDays?: number;
  /**
   * Told once when the file can no longer be trusted (GH1302): stop the process. Writes reject from then on.
   */
  readonly onFatal?: (error: GatehouseError) => void;
  /**
   * Told when writes begin to fail (disk full, read-only) and, with undefined, when they succeed again: for
   * health.
   */
  readonly onWritable?: (failing: GatehouseError | undefined) => void;
  /** Told before an older file is brought up to date, which may take seconds. */
  readonly onUpgrade?: (about: Upgrade) => void;
  /** Told what of that is done; not where it takes less than a second. */
  readonly onProgress?: (progress: UpgradeProgress) => void;
  /**
   * Whether this opening answers for the file: it checks it, notes that it is in use, and that it no longer
   * is. A file of some size is checked only after an end without that note, beside the work. Default true;
   * commands say false.
   */
  readonly checks?: boolean;
  /** Size up to which a file is checked before it is used, at every opening. Default 16 MB. */
  readonly checkFirstBytes?: number;
  /** Told the result of a check beside the work; a damaged file is also told to `onFatal`. */
  readonly onChecked?: (state: FileState) => void;
  /** How often to look for changes by other processes, once there is a listener. Default 500 ms. */
  readonly pollMs?: number;
  /**
   * Who syncs a commit before its promises resolve. `beside` (the default): we, beside the event loop, which
   * a slow disk would otherwise hold up. `in-commit`: SQLite, within COMMIT, so that nothing of this process
   * is ever visible to another one before it is on disk; for commands, which do nothing else meanwhile.
   */
  readonly sync?: 'beside' | 'in-commit';
}

export interface OpenedJournal extends AsyncDisposable {
  readonly journal: Journal;
  readonly pairing: PairingStore;
  readonly people: People;
  readonly pins: Pins;
  /** Housekeeping: at start and hourly. Rejects as `pruneAll`; the next run goes on where it stopped. */
  prune(forget?: ForgetTask): Promise<void>;
  /** As `AgingClock.cut`, for what is no row. */
  agedBefore(days: number): Promise<number>;
  /** How long the disk takes now to keep a commit, ms; undefined where that is not known. */
  syncMs(): number | undefined;
  /** A consistent copy while in use, safe to restore: see `backupJournal`. */
  backup(path: string): Promise<void>;
}

/**
 * A write of another process takes a few ms; this bounds how long the event loop may stand still behind one.
 */
const BUSY_MS = 5_000;
/** Up to this size a file is checked before it is used (about 1 ms per MB). */
const CHECK_FIRST_BYTES = 16 * 1024 * 1024;

/**
 * Opens (or creates) the journal. Several processes may: the daemon, which also holds the data-directory
 * lock, and commands. Rejects with GH1202 (directory or file cannot be written), GH1301 (disk full), GH1302
 * (damaged), GH1303 (newer version); in the last two cases the file is as it was. Disposing commits what
 * waits, then closes; it is safe twice.
 */
export async function openJournal(options: JournalOptions): Promise<OpenedJournal> {
  const db = await openFile(options);
  try {
    return journalOn(db, options);
  } catch (error) {
    db.close();
    throw openError(db.path, error);
  }
}

/** The journal on a connection that is ready, with `synchronous = FULL`; disposing closes that too. */
export function journalOn(db: Database, options: Omit<JournalOptions, 'dir'>): OpenedJournal {
  const { clock, highWater = 10_000, dedupDays = 30, pollMs = 500, checks = true } = options;
  const { onFatal = () => {}, onWritable = () => {}, remains = endsNothing } = options;
  const aging = new AgingClock(db, clock);
  // The first row of the ledger looks: an earlier process may have left many.
  const usage = { rowsSinceLook: Number.POSITIVE_INFINITY };
  const record = new RecordWriter(db);
  const chats = new KnownChats();
  const store: Store = {
    db,
    clock,
    bootId: randomUUID(),
    aging,
    remains,
    usage,
    record,
    chats,
    firstAccounts: new Map(),
    restarted: new Set(),
  };
  const room = new Room(highWater);
  room.set(countActive(store)); // the first read, by which SQLite opens the log
  const sync = options.sync === 'in-commit' ? undefined : new WalSync(db);
  const queue = new CommitQueue({
    ...{ db, ...(sync ? { sync } : {}), onFatal, onWritable, onBegin: () => watch?.note() },
    onCommit: ({ active }) => {
      watch?.committed();
      room.add(active);
    },
    rider: record,
  });
  const watch = checks ? watchFile(store, queue, options) : undefined;
  watchLoad(db);
  const refresh = () => {
    chats.forget();
    room.set(countActive(store));
    recountLoad(db);
  };
  const outside = new OutsideChanges({ db, pollMs, refresh, read: (run) => queue.read(run) });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    // What rides has no commit to come.
    if (!closed && record.due()) queue.write(() => undefined).catch(() => undefined);
    closed ??= closeAll({ queue, outside, watch, db, sync });
    return closed;
  };
  return {
    journal: new SqliteJournal({ store, queue, room, outside, record, close }),
    pairing: new SqlitePairingStore(store, queue),
    people: peopleOf(store, queue),
    pins: pinsOf(store, queue),
    prune: (forget) => pruneAll(store, queue, { dedupDays, forget }),
    agedBefore: (days) => queue.read(() => aging.cut(days)),
    syncMs: () => sync?.typicalMs,
    backup: (path) => backupJournal(db.path, path, clock),
    [Symbol.asyncDispose]: close,
  };
}

/** A row without steps leaves nothing that could be lost. */
function endsNothing(row: RunRow, steps: readonly StepRecord[]): Remains {
  if (steps.length > 0) throw new Error(`run ${row.seq} cannot be ended here: the journal was opened without \`remains\``);
  return { lines: [], tools: [] };
}

function watchFile({ db, bootId }: Store, queue: CommitQueue, options: Omit<JournalOptions, 'dir'>): FileWatch {
  const { checkFirstBytes = CHECK_FIRST_BYTES, onChecked = () => {} } = options;
  const needsCheck = statSync(db.path).size > checkFirstBytes;
  return new FileWatch({ db, bootId, needsCheck, onChecked, onDamage: (error) => queue.fail(error) });
}

interface Closing {
  readonly queue: CommitQueue;
  readonly outside: OutsideChanges;
  readonly watch: FileWatch | undefined;
  readonly db: Database;
  readonly sync: WalSync | undefined;
}

async function closeAll({ queue, outside, watch, db, sync }: Closing): Promise<void> {
  outside[Symbol.dispose]();
  await queue.close();
  watch?.close(!queue.isFatal);
  // After a sync that failed the log may read otherwise than it was written, and SQLite would copy it into
  // the database unseen. The next start takes of it what its checksums prove.
  if (sync?.failure) db.closeAndKeepLog();
  else db.close();
}

async function openFile(options: JournalOptions): Promise<Database> {
  const { dir, onUpgrade, onProgress } = options;
  await ensureDataDir(dir);
  const path = join(dir, 'journal.db');
  let db: Database | undefined;
  try {
    const created = await createPrivateFile(path);
    if (!created) await refuseEmptied(path);
    using _alone = created ? undefined : await aloneIfOld(path, options);
    db = new Database(path, { busyMs: BUSY_MS });
    // Of a new file only: it must be said before the first table. Freed pages then go back to the disk in
    // small steps.
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA auto_vacuum = INCREMENTAL');
    migrate(db, MIGRATIONS, onUpgrade, onProgress ? { onProgress } : {});
    // secure_delete FAST: what is overwritten or removed within a page leaves no copy there, at no write
    // more. fullfsync: on macOS a plain fsync leaves the bytes in the drive's cache. Elsewhere it changes
    // nothing.
    db.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA trusted_schema = OFF; PRAGMA secure_delete = FAST',
    );
    return db;
  } catch (error) {
    db?.close();
    throw openError(path, error);
  }
}

/**
 * The lock under which a file of an older version is opened. Undefined = it needs none, or another process
 * made it new.
 */
async function aloneIfOld(path: string, options: JournalOptions): Promise<Disposable | undefined> {
  if (!isOld(await inspect(path, options))) return undefined;
  const lock = await takeUpgradeLock(path);
  try {
    if (isOld(await inspect(path, options))) return lock;
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
  lock[Symbol.dispose]();
  return undefined;
}

function isOld(version: number): boolean {
  return version > 0 && version < MIGRATIONS.length;
}

/**
 * Looks at an existing file through a read-only connection, which cannot change it whatever it finds (F19,
 * F47). Returns its version; 0 = it has none yet.
 */
async function inspect(path: string, options: JournalOptions): Promise<number> {
  for (;;) {
    if ((await stat(path)).size === 0) return 0;
    using db = new Database(path, { readOnly: true, busyMs: BUSY_MS });
    try {
      const version = look(db, options);
      if (!db.isReplaced) return version;
    } catch (error) {
      // An upgrade ended meanwhile: this is the old file, with the log of the new one.
      if (db.isReplaced) continue;
      // READONLY: the first start was killed while it made the file; only a connection that may write can
      // undo that half.
      if (((sqliteCode(error) ?? 0) & 0xff) !== 8) throw error;
      return 0;
    }
  }
}

function look(db: Database, { checks = true, checkFirstBytes = CHECK_FIRST_BYTES }: JournalOptions): number {
  const version = schemaVersion(db);
  refuseNewer(version);
  if (!checks || statSync(db.path).size > checkFirstBytes) return version;
  const [finding] = db.all<{ quick_check: string }>('PRAGMA quick_check');
  if (!finding || finding.quick_check === 'ok') return version;
  throw new GatehouseError('GH1302', `${db.path} is damaged: ${finding.quick_check.split('\n')[0]}`);
}

/** What kept the file from being opened, with the path in the sentence. */
function openError(path: string, error: unknown): GatehouseError {
  if (error instanceof GatehouseError) return error;
  if (sqliteCode(error) === undefined) return dataDirError(path, error);
  const reason = journalError(error);
  const primary = (sqliteCode(error) ?? 0) & 0xff;
  if (primary === 8 || primary === 14) return unwritableError(path, error);
  // A running daemon goes on by itself; this one has not started.
  const hint = isFull(error) ? 'free disk space, then start again' : reason.hint;
  return new GatehouseError(reason.code, `${path}: ${reason.message}`, { hint, cause: error });
}
