import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import { Database } from './database.ts';
import { MIGRATIONS } from './migrations/index.ts';

export { MIGRATIONS } from './migrations/index.ts';

export function schemaVersion(db: Database): number {
  return db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
}

/** Throws GH1303 for a file of a newer version; nothing is changed then (F47). */
export function refuseNewer(version: number, known = MIGRATIONS.length): void {
  if (version <= known) return;
  throw new GatehouseError('GH1303', `the journal has schema version ${version}; this gatehouse knows up to ${known}`);
}

/** An older file is about to be brought up to date; `copy` is the path of the file as it was. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
  readonly copy: string;
}

/**
 * Brings the file to the newest version in one transaction. An older file that already holds data is copied to
 * `<path>.v<version>.bak` first; that copy is what a downgrade goes back to. Safe when two processes open one
 * file at once, and when killed anywhere: the next start does it again. `onUpgrade` is told before the first
 * step of an older file.
 */
export function migrate(
  db: Database,
  migrations: readonly string[] = MIGRATIONS,
  onUpgrade: (about: Upgrade) => void = () => {},
): void {
  const before = schemaVersion(db);
  refuseNewer(before, migrations.length);
  if (before === migrations.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    const version = schemaVersion(db); // again, now that nobody else can change it
    refuseNewer(version, migrations.length);
    refuseForeign(db, version);
    if (version > 0 && version < migrations.length) {
      const copy = `${db.path}.v${version}.bak`;
      onUpgrade({ from: version, to: migrations.length, copy });
      keepCopy(db.path, copy);
    }
    for (const step of migrations.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${migrations.length}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Copies what is committed, on a connection of its own: the caller's transaction keeps writers out, and
 * VACUUM cannot run within one. The name is taken by a whole copy only. What an upgrade that was killed left
 * under it, or under the draft's, is replaced.
 */
function keepCopy(source: string, copy: string): void {
  const draft = `${copy}.partial`;
  const clear = () => {
    for (const path of [draft, `${draft}-journal`]) rmSync(path, { force: true });
  };
  try {
    clear();
    closeSync(openSync(draft, 'wx', 0o600));
    {
      using from = new Database(source, { readOnly: true, busyMs: 5_000 });
      from.exec(`VACUUM INTO '${draft.replaceAll("'", "''")}'`);
    }
    syncPath(draft);
    renameSync(draft, copy);
    syncPath(dirname(copy));
  } catch (error) {
    clear();
    throw error;
  }
}

function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function refuseForeign(db: Database, version: number): void {
  if (version > 0) return;
  const table = db.get<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1");
  if (table) throw new GatehouseError('GH1302', `${db.path} is a database of another program (it has a table "${table.name}")`);
}
