import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { ofVersion3 } from '../testing/old-journal.ts';
import { Database } from './database.ts';
import { openJournal } from './open.ts';
import { migrate } from './schema.ts';
import { takeUpgradeLock } from './upgrade-lock.ts';

test('an older file is not opened before the process that brings it up to date has ended', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 20);
  const order: string[] = [];
  const lock = await takeUpgradeLock(path);
  const opening = openJournal({ dir: dir.path, clock: new FakeClock() }).then((opened) => {
    order.push('opened');
    return opened;
  });
  // Longer than an opening takes, were it not held up.
  await new Promise((resolve) => setTimeout(resolve, 300));
  using db = new Database(path, { busyMs: 100 });
  migrate(db);
  order.push('upgraded');
  lock[Symbol.dispose]();
  await using opened = await opening;
  expect(order).toEqual(['upgraded', 'opened']);
  const { inbox } = await opened.journal.counts();
  expect(Object.values(inbox).reduce((sum, count) => sum + count, 0)).toBe(20);
  expect(await readdir(dir.path)).not.toContain('journal.db.upgrade-lock');
});

test('a lock that is not given back is GH1301 with what to do', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 1);
  using _held = await takeUpgradeLock(path);
  await expect(takeUpgradeLock(path, 10)).rejects.toMatchObject({
    code: 'GH1301',
    hint: expect.stringContaining('stop the other'),
  });
});

test('a file of the newest version needs no lock', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 1);
  await (await openJournal({ dir: dir.path, clock: new FakeClock() }))[Symbol.asyncDispose]();
  using _held = await takeUpgradeLock(path);
  await using opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  expect(await opened.journal.counts()).toBeDefined();
});
