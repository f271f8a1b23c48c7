// data directory -> without the files that a killed write left beside those that it was to replace
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { orNone } from '../lib/errno.ts';

/** What `writeFileAtomic` writes into first. */
const TEMPORARY = /^\.[0-9a-f]{16}\.tmp$/;
/** A file system notes times by its own clock, which may be this much behind. */
const BEHIND_MS = 10;

/** They hold lines as they were. `isAlone`: nothing else works here, so that no write is under way. */
export async function removeStrays(dataDir: string, isAlone: boolean): Promise<void> {
  // Only this process writes here: a temporary file of before its start is of one that was killed. The clock
  // may have been ahead at the start, and what is written now would be older.
  const start = Math.min(performance.timeOrigin, Date.now() - performance.now());
  const before = isAlone ? Number.POSITIVE_INFINITY : start - BEHIND_MS;
  const users = await readdir(join(dataDir, 'users')).catch(orNone);
  for (const dir of ['sessions', 'upload-days', ...users.map((user) => join('users', user, 'sessions'))]) {
    const names = await readdir(join(dataDir, dir)).catch(orNone);
    for (const path of names.filter((name) => TEMPORARY.test(name)).map((name) => join(dataDir, dir, name))) {
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
      if (mtimeMs < before) await rm(path, { force: true });
    }
  }
}
