import { appendFile, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keptRows } from './kept.ts';

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
  await (await keptRows(file, 'commit 1')).once('irc plain', of('| irc |'));
  expect(await (await keptRows(file, 'commit 1')).once('irc plain', never)).toEqual({ rows: ['| irc |'], ok: true });
});

test('a scenario that failed is swept again', async () => {
  const file = await aFile();
  await (await keptRows(file, 'commit 1')).once('irc plain', of('| bad |', false));
  expect((await (await keptRows(file, 'commit 1')).once('irc plain', of('| good |'))).rows).toEqual(['| good |']);
});

test('rows of another commit are refused', async () => {
  const file = await aFile();
  await keptRows(file, 'commit 1');
  await expect(keptRows(file, 'commit 2')).rejects.toThrow('of another sweep (commit 1)');
});

test('a line that a kill cut is swept again, and those after it are whole', async () => {
  const file = await aFile();
  await (await keptRows(file, 'commit 1')).once('irc plain', of('| irc |'));
  await appendFile(file, '["slack plain",["| sla');
  const again = await keptRows(file, 'commit 1');
  await again.once('slack plain', of('| slack |'));
  expect(await (await keptRows(file, 'commit 1')).once('slack plain', never)).toEqual({ rows: ['| slack |'], ok: true });
  expect(await readFile(file, 'utf8')).toBe('commit 1\n["irc plain",["| irc |"]]\n["slack plain",["| slack |"]]\n');
});
