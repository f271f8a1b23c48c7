/** What an interrupted sweep had counted, so that it goes on where it was instead of anew. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** What one scenario of one channel gave. */
export interface SweepRows {
  readonly rows: readonly string[];
  readonly ok: boolean;
}

/**
 * The rows in FILE that a sweep of `subject` left there, and how more are added. Only a scenario that was
 * swept to its end and passed is kept: what failed is swept again.
 *
 * `subject` names all that a row depends on (the program and flags). A file of another subject throws: no
 * table may mix the rows of two programs.
 */
export async function keptRows(file: string, subject: string) {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  // A last line without its end was cut by a kill.
  const [first, ...lines] = text.split('\n').slice(0, -1);
  if (first !== undefined && first !== subject) {
    throw new Error(`${file} is of another sweep (${first}), this one is ${subject}: name another file`);
  }
  await writeFile(file, `${[subject, ...lines].join('\n')}\n`);
  const kept = new Map(lines.map((line) => JSON.parse(line) as [string, readonly string[]]));
  return {
    async once(key: string, work: () => Promise<SweepRows>): Promise<SweepRows> {
      const rows = kept.get(key);
      if (rows) return { rows, ok: true };
      const result = await work();
      if (result.ok) await appendFile(file, `${JSON.stringify([key, result.rows])}\n`);
      return result;
    },
  };
}

/** Dependencies and everything that a run of the sweep loads. Tests, docs and the rows themselves are not. */
const LOADED = ['package.json', 'package-lock.json', 'src', 'channels', 'config', 'sessions'];
const NOT_LOADED = /\.test\.ts$|\.md$|\/rows-[^/]*\.jsonl$/;

/**
 * A digest of the files that the sweep runs, so that rows stay valid where a commit changes only tests, docs
 * or the rows. Throws where a file of the checkout differs from its commit: its rows would be of no commit.
 */
export async function programOf(directory: string): Promise<string> {
  const git = async (...args: string[]) =>
    (await promisify(execFile)('git', args, { cwd: directory, maxBuffer: 64 << 20 })).stdout.trim();
  const changed = await git('status', '--porcelain');
  if (changed !== '') throw new Error(`--keep needs a checkout without changes; these differ:\n${changed}`);
  const files = (await git('ls-tree', '-r', '--full-tree', 'HEAD', '--', ...LOADED)).split('\n');
  const loaded = files.filter((line) => !NOT_LOADED.test(line));
  return createHash('sha256').update(loaded.join('\n')).digest('hex').slice(0, 16);
}
