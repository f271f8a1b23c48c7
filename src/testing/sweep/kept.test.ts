import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { keptRows, programOf } from './kept.ts';

async function aFile(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'gatehouse-kept-')), 'rows');
}

const of =
  (row: string, ok = true) =>
  async () => ({ rows: [row], ok });
const never = async () => {
  throw new Error('swept again');
};

test('a scenario that passed is not swept again', async () => {
  const file = await aFile();
  await (await keptRows(file, 'program 1')).once('irc plain', of('| irc |'));
  expect(await (await keptRows(file, 'program 1')).once('irc plain', never)).toEqual({ rows: ['| irc |'], ok: true });
});

test('a scenario that failed is swept again', async () => {
  const file = await aFile();
  await (await keptRows(file, 'program 1')).once('irc plain', of('| bad |', false));
  expect((await (await keptRows(file, 'program 1')).once('irc plain', of('| good |'))).rows).toEqual(['| good |']);
});

test('rows of another program are refused', async () => {
  const file = await aFile();
  await keptRows(file, 'program 1');
  await expect(keptRows(file, 'program 2')).rejects.toThrow('of another sweep (program 1)');
});

test('a line that a kill cut is swept again, and those after it are whole', async () => {
  const file = await aFile();
  await (await keptRows(file, 'program 1')).once('irc plain', of('| irc |'));
  await appendFile(file, '["slack plain",["| sla');
  const again = await keptRows(file, 'program 1');
  await again.once('slack plain', of('| slack |'));
  expect(await (await keptRows(file, 'program 1')).once('slack plain', never)).toEqual({ rows: ['| slack |'], ok: true });
  expect(await readFile(file, 'utf8')).toBe('program 1\n["irc plain",["| irc |"]]\n["slack plain",["| slack |"]]\n');
});

test('the program of a checkout is another where a file of it is, and not where a test, a page or the rows are', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-program-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: directory });
  const after = async (path: string, text: string) => {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
    await expect(programOf(directory)).rejects.toThrow(path.split('/')[0]);
    git('add', '.');
    git('commit', '-qm', path);
    return await programOf(directory);
  };
  git('init', '-q');
  const first = await after('src/a.ts', '1');
  expect(await after('src/a.test.ts', '1')).toBe(first);
  expect(await after('channels/irc/README.md', '1')).toBe(first);
  expect(await after('src/testing/sweep/rows-1.jsonl', '1')).toBe(first);
  expect(await after('docs/a.md', '1')).toBe(first);
  const second = await after('src/a.ts', '2');
  expect(second).not.toBe(first);
  expect(await after('package.json', '{}')).not.toBe(second);
});
