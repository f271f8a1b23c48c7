import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeClock, tempDir, until } from '../testing/fakes.ts';
import { admit, message } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const clock = new FakeClock();

async function emptied(dir: string, ...beside: string[]): Promise<string> {
  const path = join(dir, 'journal.db');
  await writeFile(path, '');
  for (const name of beside) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), 'x');
  }
  return path;
}

test.each([
  'users/ada/sessions/default.jsonl',
  'sessions/ada.jsonl',
  'journal.db.v6.bak',
  'journal.db-wal',
  'daemon.json',
  'config-path',
])('an empty journal beside %s stops the opening, with the way back, and nothing is changed', async (beside) => {
  await using dir = await tempDir();
  const path = await emptied(dir.path, beside);
  const names = await readdir(dir.path);
  await expect(openJournal({ dir: dir.path, clock })).rejects.toMatchObject({
    code: 'GH1302',
    message: expect.stringMatching(/journal\.db is empty \(0 bytes\), and was not: beside it there is /),
    hint: expect.stringMatching(/docs\/upgrade\.md.*remove .*journal\.db/),
  });
  expect(await readdir(dir.path)).toEqual(names);
  expect([(await stat(path)).size, await readFile(join(dir.path, beside), 'utf8')]).toEqual([0, 'x']);
});

test('an empty journal beside what is there before the first start is a new one', async () => {
  await using dir = await tempDir();
  await emptied(dir.path, 'lock.db', 'lock.json', 'auth.json', 'chat/journal.db');
  await using opened = await openJournal({ dir: dir.path, clock });
  expect((await opened.journal.accept([admit(message(1))]))[0]?.kind).toBe('new');
});

test('a journal that was moved away begins anew, and one that another process fills meanwhile is waited for', async () => {
  await using dir = await tempDir();
  const path = await emptied(dir.path, 'daemon.json');
  const late = openJournal({ dir: dir.path, clock });
  setTimeout(async () => {
    await rm(path);
    await using _made = await openJournal({ dir: dir.path, clock });
  }, 50);
  await using opened = await late;
  expect((await opened.journal.counts()).inbox.NEW).toBe(0);
});

test('a journal that is replaced while it is in use is told, and takes no more that would be gone with the process', async () => {
  await using dir = await tempDir();
  const failed: unknown[] = [];
  await using opened = await openJournal({ dir: dir.path, clock, pollMs: 5, onFatal: (error) => failed.push(error) });
  opened.journal.onOutsideChange(() => undefined);
  await opened.journal.accept([admit(message(1))]);
  expect(failed).toEqual([]);
  await writeFile(join(dir.path, 'restored'), '');
  await rename(join(dir.path, 'restored'), join(dir.path, 'journal.db'));
  await until('it is told', () => failed.length > 0);
  expect(failed).toMatchObject([
    { code: 'GH1302', message: expect.stringContaining('was replaced or removed while it was in use') },
  ]);
  await expect(opened.journal.accept([admit(message(2))])).rejects.toMatchObject({ code: 'GH1302' });
});
