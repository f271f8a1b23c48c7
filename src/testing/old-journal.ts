/**
 * A journal as version 3 left it, with finished messages; each has a step, as a turn with a long tool output
 * leaves one.
 */
import { join } from 'node:path';
import { createPrivateFile, Database } from '../journal/database.ts';
import { MIGRATIONS, migrate } from '../journal/schema.ts';
import { LANE, message, SESSION } from './journal-rows.ts';

/** Closed, in WAL mode, and owner only. Returns its path. */
export async function ofVersion3(dir: string, rows: number): Promise<string> {
  const path = join(dir, 'journal.db');
  await createPrivateFile(path);
  using db = new Database(path, { busyMs: 0 });
  migrate(db, MIGRATIONS.slice(0, 3));
  db.exec('PRAGMA journal_mode = WAL; BEGIN');
  for (let n = 1; n <= rows; n += 1) {
    const { id, ...rest } = message(n, { text: 'x'.repeat(1_000) });
    const row = [n, id, LANE, SESSION, JSON.stringify({ id, ...rest }), n === rows ? 'DEAD' : 'DONE'];
    db.run(
      `INSERT INTO inbox (seq, key, lane, session, message, state, attempts, accepted_at, aged_from, finished_at, outcome)
       VALUES (?, ?, ?, ?, ?, ?, 1, 0, 0, 0, 'x')`,
      ...row,
    );
    db.run("INSERT INTO step (inbox_seq, n, kind, state, value) VALUES (?, 0, 'tool', 'DONE', ?)", n, '"output"');
  }
  db.exec('COMMIT');
  return path;
}
