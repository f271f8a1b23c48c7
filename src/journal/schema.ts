import { GatehouseError } from '../core/errors.ts';
import type { Database } from './database.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { type Upgrade, type UpgradeOptions, upgradeFile } from './upgrade.ts';

export { MIGRATIONS } from './migrations/index.ts';

export function schemaVersion(db: Database): number {
  return db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
}

/** Throws GH1303 for a file of a newer version; nothing is changed then (F47). */
export function refuseNewer(version: number, known = MIGRATIONS.length): void {
  if (version <= known) return;
  throw new GatehouseError('GH1303', `the journal has schema version ${version}; this gatehouse knows up to ${known}`);
}

/**
 * Brings the file to the newest version. A new file gets its tables in one transaction. An older one is
 * upgraded as `upgradeFile` says, and `db` is connected to the new file afterwards: settings of the
 * connection, such as `journal_mode`, belong after this call. Safe when two processes open one file at once.
 */
export function migrate(
  db: Database,
  migrations: readonly string[] = MIGRATIONS,
  onUpgrade: (about: Upgrade) => void = () => {},
  options: UpgradeOptions = {},
): void {
  for (;;) {
    const version = schemaVersion(db);
    if (db.isReplaced) {
      db.reopen();
      continue;
    }
    refuseNewer(version, migrations.length);
    if (version === migrations.length) return;
    if (version === 0) createTables(db, migrations);
    else upgradeFile(db, { from: version, migrations, onUpgrade, ...options });
  }
}

/** Does nothing where another process made the tables meanwhile. */
function createTables(db: Database, migrations: readonly string[]): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    if (schemaVersion(db) === 0) {
      refuseForeign(db);
      for (const step of migrations) db.exec(step);
      db.exec(`PRAGMA user_version = ${migrations.length}`);
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function refuseForeign(db: Database): void {
  const table = db.get<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1");
  if (table) throw new GatehouseError('GH1302', `${db.path} is a database of another program (it has a table "${table.name}")`);
}
