import { statSync } from 'node:fs';
import { access, chmod, constants, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync, type StatementSync } from 'node:sqlite';
import { errorText, GatehouseError } from '../core/errors.ts';
import { isErrno } from '../lib/errno.ts';

export type SqlValue = null | number | string | Uint8Array;

export interface DatabaseOptions {
  readonly readOnly?: boolean;
  /** How long a statement waits for another process's lock. It blocks the event loop meanwhile. */
  readonly busyMs: number;
}

/**
 * Ends a SELECT that takes its bound as a value. SQLite reads the value of a bare `LIMIT ?` while it plans,
 * so it compiles that statement anew at each run: 15 µs instead of 3 for a look into an empty lane.
 */
export const LIMIT = 'LIMIT ? + 0';

/**
 * One connection of the built-in SQLite driver: the journal's only file that imports it. Statements are
 * prepared once and kept.
 */
export class Database implements Disposable {
  readonly path: string;
  readonly #options: DatabaseOptions;
  readonly #statements = new Map<string, StatementSync>();
  #db: DatabaseSync;
  #file: string | undefined;

  constructor(path: string, options: DatabaseOptions) {
    this.path = path;
    this.#options = options;
    // Before the file is opened: were it looked at afterwards, one that took its place meanwhile would count
    // as ours.
    this.#file = identity(path);
    this.#db = connect(path, options);
  }

  /**
   * Whether the name leads to another file by now, as after an upgrade. `false` when this connection made the
   * file.
   */
  get isReplaced(): boolean {
    return this.#file !== undefined && identity(this.path) !== this.#file;
  }

  /**
   * Lets go of every lock and connects to the file that has the name now. Settings of the connection are
   * gone.
   */
  reopen(): void {
    this.close();
    this.#file = identity(this.path);
    this.#db = connect(this.path, this.#options);
  }

  /** Any number of statements without parameters; not kept. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Returns how many rows changed. */
  run(sql: string, ...values: readonly SqlValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  /** Returns the rowid of the inserted row. */
  insert(sql: string, ...values: readonly SqlValue[]): number {
    return Number(this.#prepare(sql).run(...values).lastInsertRowid);
  }

  /** The caller names the shape of the row; it is the schema's to keep it. */
  get<Row>(sql: string, ...values: readonly SqlValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: readonly SqlValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  /** As `all`, one row at a time. No other statement with this text may run before the last row was taken. */
  each<Row>(sql: string, ...values: readonly SqlValue[]): IterableIterator<Row> {
    return this.#prepare(sql).iterate(...values) as IterableIterator<Row>;
  }

  /**
   * A rollback that SQLite did by itself (disk full, I/O error) shows as `false` in the middle of a
   * transaction.
   */
  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Of a database in WAL mode. SQLite follows a symbolic link first: the log lies beside the file itself. */
  get walPath(): string {
    return `${this.#db.location() ?? this.path}-wal`;
  }

  /**
   * Copies the whole file in one step under one snapshot, off the event loop. Call it on a connection of its
   * own: on a connection that writes, it would see transactions half done.
   */
  async copyTo(path: string): Promise<void> {
    await backup(this.#db, path, { rate: 0x7fffffff });
  }

  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  /**
   * Closes and leaves the write-ahead log as it is. The last connection would copy it into the database; one
   * that may only read cannot, and is the last here.
   */
  closeAndKeepLog(): void {
    using last = new Database(this.path, { readOnly: true, busyMs: 0 });
    try {
      last.get('PRAGMA user_version'); // from its first read on it holds a lock
    } finally {
      this.close();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

function connect(path: string, { readOnly = false, busyMs }: DatabaseOptions): DatabaseSync {
  return new DatabaseSync(path, { readOnly, timeout: busyMs, enableForeignKeyConstraints: false });
}

function identity(path: string): string | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  return file && `${file.dev}/${file.ino}`;
}

/**
 * SQLite's primary result codes (sqlite.org/rescode.html); an extended code carries its primary code in the
 * low byte.
 */
const BUSY = [5, 6];
const UNWRITABLE = [8, 13, 14]; // READONLY, FULL, CANTOPEN
const UNTRUSTED = [10, 11, 26]; // IOERR, CORRUPT, NOTADB
/** IOERR_NOMEM and IOERR_SHMOPEN, _SHMSIZE, _SHMMAP: memory or room ran out before anything was written. */
const IOERR_BEFORE_WRITE = [3082, 4618, 4874, 5386];

/** The extended result code, undefined when the error is not SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

export function isBusy(error: unknown): boolean {
  return BUSY.includes((sqliteCode(error) ?? 0) & 0xff);
}

/** The file of shared memory beside the journal could not grow, which SQLite calls a disk I/O error. */
const IOERR_SHMSIZE = 10 | (19 << 8);
const NO_ROOM = 'no room for its -shm file, the disk is full';

/** Whether a statement failed because the disk is full. */
export function isFull(error: unknown): boolean {
  const code = sqliteCode(error) ?? 0;
  return (code & 0xff) === 13 || code === IOERR_SHMSIZE;
}

/**
 * What a failed statement means to callers: GH1301 nothing was written, GH1302 the file is lost, GH1004 a bug
 * of ours.
 */
export function journalError(error: unknown): GatehouseError {
  if (error instanceof GatehouseError) return error;
  const code = sqliteCode(error);
  if (code === undefined) return new GatehouseError('GH1004', `the journal failed: ${errorText(error)}`, { cause: error });
  const primary = code & 0xff;
  const detail = `${code === IOERR_SHMSIZE ? NO_ROOM : errorText(error)} (SQLite code ${code})`;
  if (BUSY.includes(primary)) {
    return new GatehouseError('GH1301', `another process holds the journal: ${detail}`, {
      hint: 'a `gatehouse` command may be running; it is tried again',
      cause: error,
    });
  }
  if (UNWRITABLE.includes(primary) || IOERR_BEFORE_WRITE.includes(code)) {
    return new GatehouseError('GH1301', `the journal cannot be written: ${detail}`, { cause: error });
  }
  if (UNTRUSTED.includes(primary)) {
    return new GatehouseError('GH1302', `the journal can no longer be trusted: ${detail}`, { cause: error });
  }
  return new GatehouseError('GH1004', `the journal failed: ${detail}`, { cause: error });
}

/**
 * Creates the file, owner only, when it is absent, and tells whether it did. An existing file is never opened
 * here: closing any descriptor of a database file drops the POSIX locks that this process holds on it
 * (sqlite.org/howtocorrupt.html 2.2).
 */
export async function createPrivateFile(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    await file.sync();
    await file.close();
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    await access(path, constants.R_OK | constants.W_OK);
    await chmod(path, 0o600);
    return false;
  }
  // The new name itself must survive a power loss, not only the bytes behind it (F12).
  const dir = await open(dirname(path), 'r');
  await dir.sync();
  await dir.close();
  return true;
}
