/** The login of one account and all its encryption needs, in one SQLite file of the channel's directory. */
import { chmod, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { syncDirectory } from '../../../src/lib/atomic-file.ts';
import { type Pins, parseJid } from './ids.ts';

/**
 * A message whose key was used up but which is not known to be ours yet, or was: the server repeats what it
 * has no receipt for, and the same ciphertext cannot be decrypted twice. Written in one transaction with the
 * change of the keys.
 */
export const RECEIVED = 'gatehouse-received';

type Rows = Readonly<Record<string, unknown>>;
/** Key type -> id -> value; null removes. */
export type KeyChanges = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

/** One that was decrypted: the hash of its ciphertext, and what came out. */
export interface Joined {
  readonly hash: string;
  readonly plaintext: Uint8Array;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS keys (type TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (type, id)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS received (hash TEXT PRIMARY KEY, plaintext BLOB NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS joined (first TEXT NOT NULL, place INTEGER NOT NULL, plaintext BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (first, place)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS sent (id TEXT PRIMARY KEY, message BLOB NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS person (phone TEXT PRIMARY KEY, lid TEXT NOT NULL UNIQUE) WITHOUT ROWID;
`;

const DAY_MS = 24 * 3_600_000;
/** Longer than the server keeps anything for a device: after 14 days it unlinks one that did not connect. */
const KEEP_MS = 15 * DAY_MS;

export class LoginStore implements Pins, Disposable {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #prunedAt = 0;

  private constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Undefined if there is no file and none is to be made. Directory 0700, files 0600, whatever the umask. */
  static async open(path: string, options: { readonly create: boolean; readonly now: number }): Promise<LoginStore | undefined> {
    if (!options.create && !(await exists(path))) return undefined;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await chmod(dirname(path), 0o700);
    // SQLite gives its -wal and -shm files the mode of the file itself.
    const file = await open(path, 'a', 0o600);
    try {
      await file.chmod(0o600);
    } finally {
      await file.close();
    }
    const db = new DatabaseSync(path, { timeout: 5_000 });
    // FULL: a transaction that was reported written survives power loss, and only then the server is told.
    // Secure delete: what is removed (used keys, words of messages) is overwritten in the file.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;');
    db.exec(SCHEMA);
    await syncDirectory(dirname(path));
    const store = new LoginStore(db);
    store.#prune(options.now);
    return store;
  }

  get(type: string, id: string): unknown {
    const row = this.#get<{ value: string }>('SELECT value FROM keys WHERE type = ? AND id = ?', type, id);
    return row && JSON.parse(row.value, fromJson);
  }

  /** All changes or none, on disk when it returns. Throws the driver's error; then nothing was changed. */
  write(changes: KeyChanges, now: number): void {
    this.#atOnce(() => {
      // A daemon runs for months. Every message, in or out, changes a key.
      if (now - this.#prunedAt >= DAY_MS) this.#prune(now);
      for (const [type, rows] of Object.entries(changes)) this.#writeType(type, rows ?? {}, now);
    });
  }

  received(hash: string): Buffer | undefined {
    const row = this.#get<{ plaintext: Uint8Array }>('SELECT plaintext FROM received WHERE hash = ?', hash);
    return row && Buffer.from(row.plaintext);
  }

  /** What stays of a message that is safe elsewhere: nothing a person wrote. */
  settle(hash: string, rest: Uint8Array): void {
    this.#atOnce(() => {
      this.#run('UPDATE received SET plaintext = ? WHERE hash = ?', rest, hash);
      this.#run('DELETE FROM joined WHERE first = ?', hash);
    });
  }

  /**
   * The other messages become part of the first and are read only with it from now on. `rest` is what stays
   * of each.
   */
  join(first: string, others: readonly (Joined & { readonly rest: Uint8Array })[], now: number): void {
    this.#atOnce(() => {
      const insert = 'INSERT OR REPLACE INTO joined (first, place, plaintext, at) VALUES (?, ?, ?, ?)';
      // Place 0 is the first message itself: it says that the others are known, also where there are none.
      this.#run(insert, first, 0, new Uint8Array(), now);
      for (const [index, { hash, plaintext, rest }] of others.entries()) {
        this.#run(insert, first, index + 1, plaintext, now);
        this.#run('UPDATE received SET plaintext = ? WHERE hash = ?', rest, hash);
      }
    });
  }

  /** What was joined to a message that is not settled; undefined when nothing was decided about it. */
  joined(first: string): readonly Buffer[] | undefined {
    const rows = this.#prepare('SELECT place, plaintext FROM joined WHERE first = ? ORDER BY place').all(first);
    const others = (rows as { place: number; plaintext: Uint8Array }[]).filter(({ place }) => place > 0);
    return rows.length === 0 ? undefined : others.map(({ plaintext }) => Buffer.from(plaintext));
  }

  /** A message of ours, for a recipient who could not read it and asks again. */
  keepSent(id: string, message: Uint8Array, now: number): void {
    this.#run('INSERT OR REPLACE INTO sent (id, message, at) VALUES (?, ?, ?)', id, message, now);
  }

  sent(id: string): Buffer | undefined {
    const row = this.#get<{ message: Uint8Array }>('SELECT message FROM sent WHERE id = ?', id);
    return row && Buffer.from(row.message);
  }

  phoneOf(lid: string): string | undefined {
    return this.#get<{ phone: string }>('SELECT phone FROM person WHERE lid = ?', lid)?.phone;
  }

  lidOf(phone: string): string | undefined {
    return this.#get<{ lid: string }>('SELECT lid FROM person WHERE phone = ?', phone)?.lid;
  }

  pin(phone: string, lid: string): void {
    this.#run('INSERT OR IGNORE INTO person (phone, lid) VALUES (?, ?)', phone, lid);
  }

  /** Takes over who belongs to which number from the login that this one replaces. */
  adoptPeople(other: LoginStore): void {
    const people = other.#db.prepare('SELECT phone, lid FROM person').all() as { phone: string; lid: string }[];
    for (const { phone, lid } of people) this.pin(phone, lid);
  }

  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #writeType(type: string, rows: Rows, now: number): void {
    for (const [id, value] of Object.entries(rows)) {
      if (type === RECEIVED) {
        this.#run('INSERT OR REPLACE INTO received (hash, plaintext, at) VALUES (?, ?, ?)', id, value as Uint8Array, now);
      } else if (value === null || value === undefined) {
        this.#run('DELETE FROM keys WHERE type = ? AND id = ?', type, id);
      } else {
        this.#run('INSERT OR REPLACE INTO keys (type, id, value) VALUES (?, ?, ?)', type, id, JSON.stringify(value, toJson));
      }
    }
  }

  #atOnce(change: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      change();
      this.#db.exec('COMMIT');
    } catch (error) {
      // A full disk may have rolled it back already.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #prune(now: number): void {
    this.#run('DELETE FROM received WHERE at < ?', now - KEEP_MS);
    this.#run('DELETE FROM joined WHERE at < ?', now - KEEP_MS);
    this.#run('DELETE FROM sent WHERE at < ?', now - KEEP_MS);
    this.#prunedAt = now;
  }

  #run(sql: string, ...values: readonly (string | number | Uint8Array)[]): void {
    this.#prepare(sql).run(...values);
  }

  #get<Row>(sql: string, ...values: readonly string[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** The number of the linked account. Undefined before one was linked. */
export function accountOf(store: LoginStore): string | undefined {
  const creds = store.get('creds', 'creds') as { readonly me?: { readonly id?: string } } | undefined;
  return parseJid(creds?.me?.id)?.user;
}

/** Puts a closed login in the place of another, as one step that survives power loss. */
export async function replaceLogin(from: string, to: string): Promise<void> {
  // The log of the login that is replaced must not be replayed into its successor.
  const old = await LoginStore.open(to, { create: false, now: 0 });
  old?.close();
  await rename(from, to);
  await syncDirectory(dirname(to));
}

/** Removes a login with its logs; false when there is none. The log goes first, or a successor replays it. */
export async function removeLogin(path: string): Promise<boolean> {
  const there = await exists(path);
  for (const suffix of ['-wal', '-shm', '-journal', '']) await rm(`${path}${suffix}`, { force: true });
  return there;
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}

/** `Buffer.toJSON` ran before the replacer sees the value, hence the second form. */
function toJson(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (isSerialisedBuffer(value)) return { $bytes: Buffer.from(value.data).toString('base64') };
  return value;
}

function fromJson(_key: string, value: unknown): unknown {
  if (typeof value === 'object' && value !== null && '$bytes' in value && typeof value.$bytes === 'string') {
    return Buffer.from(value.$bytes, 'base64');
  }
  return value;
}

function isSerialisedBuffer(value: unknown): value is { data: number[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value &&
    Array.isArray(value.data)
  );
}
