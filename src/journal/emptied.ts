import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import { isErrno } from '../lib/errno.ts';

/** Another process that makes the file fills it within this. */
const FILLED_WITHIN_MS = 1_000;

/**
 * Rejects with GH1302 where the file has no byte, and what lies beside it shows that it once had: after a
 * disk that was full, or a copy that failed. Taken for new, it would forget what waits and what was answered
 * without a word, and SQLite would remove the log that may still hold it. A file that is not there is new: it
 * was moved away on purpose.
 */
export async function refuseEmptied(path: string): Promise<void> {
  if (!(await isEmpty(path))) return;
  const signs = await signsOfUse(path);
  if (signs.length === 0) return;
  const until = performance.now() + FILLED_WITHIN_MS;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (!(await isEmpty(path))) return;
  }
  throw new GatehouseError('GH1302', `${path} is empty (0 bytes), and was not: beside it there is ${signs.join(', ')}`, {
    hint: `put a backup of journal.db in its place, as docs/upgrade.md says ("A damaged journal"); to begin without what it held, remove ${path} and ${basename(path)}-wal and start again`,
  });
}

async function isEmpty(path: string): Promise<boolean> {
  return (await sizeOf(path)) === 0;
}

/** Undefined = it is not there. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** What only a daemon with a journal leaves behind. */
async function signsOfUse(path: string): Promise<readonly string[]> {
  const [dir, file] = [dirname(path), basename(path)];
  const names = await readdir(dir);
  const copies = names.filter((name) => name.startsWith(`${file}.v`) && name.endsWith('.bak'));
  const log = ((await sizeOf(`${path}-wal`)) ?? 0) > 0 ? [`${file}-wal`] : [];
  const left = ['daemon.json', 'config-path'].filter((name) => names.includes(name));
  const talks: string[] = [];
  for (const name of ['users', 'sessions']) {
    const inside = names.includes(name) ? await readdir(join(dir, name)).catch(() => []) : [];
    if (inside.length > 0) talks.push(`${name}/ with conversations`);
  }
  return [...log, ...copies, ...left, ...talks];
}
