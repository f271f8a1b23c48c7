import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Store } from './store.ts';

/**
 * Removes the copies of before an upgrade (`journal.db.v3.bak`) that were first seen here `days` of aging
 * time ago. The date of the file is not asked: a clock that jumps ahead must not take the way back away. In a
 * transaction.
 */
export function dropOldCopies(store: Store, aged: number, days: number): void {
  const { db } = store;
  const dir = dirname(db.path);
  for (const file of copiesIn(store)) {
    const row = `seen ${file}`;
    db.run('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', row, aged);
    const seen = db.get<{ value: number }>('SELECT value FROM meta WHERE name = ?', row)?.value ?? aged;
    if (aged - seen < days * 86_400_000) continue;
    rmSync(join(dir, file), { force: true });
    db.run('DELETE FROM meta WHERE name = ?', row);
  }
}

/** Whatever their age: they hold words of a person who is erased. In a transaction. */
export function dropAllCopies(store: Store): void {
  for (const file of copiesIn(store)) {
    rmSync(join(dirname(store.db.path), file), { force: true });
    store.db.run('DELETE FROM meta WHERE name = ?', `seen ${file}`);
  }
}

function copiesIn({ db }: Store): readonly string[] {
  const name = basename(db.path);
  return readdirSync(dirname(db.path)).filter(
    (file) => file.startsWith(`${name}.v`) && /^\d+\.bak$/.test(file.slice(name.length + 2)),
  );
}
