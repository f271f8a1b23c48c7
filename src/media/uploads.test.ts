import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { Uploads } from './uploads.ts';

const DAY_MS = 86_400_000;
const LIMITS = { keepMs: 30 * DAY_MS, bytes: 350 };

const ROOM = { cover: async () => undefined, stored: () => undefined, [Symbol.dispose]: () => undefined };
const NO_LIMIT = { claim: async () => ROOM, measureAll: async () => undefined, [Symbol.dispose]: () => undefined };

async function scene(dir: string) {
  const clock = new FakeClock(Date.UTC(2026, 0, 31, 12));
  const start = () => new Uploads({ dataDir: dir, clock, limits: LIMITS, disk: NO_LIMIT });
  const workspace = (name: string) => join(dir, 'workspaces/ada', name);
  return {
    clock,
    start,
    workspace,
    /** As a turn stores it, or by another hand. */
    async upload(name: string, file: string, uploads?: Uploads): Promise<void> {
      const folder = join(workspace(name), 'uploads');
      await mkdir(folder, { recursive: true });
      await uploads?.note(workspace(name));
      await writeFile(join(folder, file), 'x'.repeat(100));
      await utimes(join(folder, file), clock.now() / 1_000, clock.now() / 1_000);
      await uploads?.note(workspace(name));
    },
    files: async (name: string) => (await readdir(join(workspace(name), 'uploads'))).toSorted(),
    days: async () => (await readdir(join(dir, 'upload-days'))).toSorted(),
  };
}

test('files that were there before are found once, and each goes when its time is over', async () => {
  await using dir = await tempDir();
  const at = await scene(dir.path);
  await at.upload('one', 'first.pdf');
  await at.clock.advance(10 * DAY_MS);
  await at.upload('one', 'second.pdf');
  const uploads = at.start();
  await uploads.prune();
  expect(await at.days()).toEqual(['2026-01-31', '2026-02-10', 'walked']);
  await at.clock.advance(21 * DAY_MS);
  await uploads.prune();
  expect([await at.files('one'), await at.days()]).toEqual([['second.pdf'], ['2026-02-10', 'walked']]);
  await at.clock.advance(10 * DAY_MS);
  await uploads.prune();
  expect(await at.files('one')).toEqual([]);
});

test('C14 only conversations are looked at that got a file since, or in which one is too old', async () => {
  await using dir = await tempDir();
  const at = await scene(dir.path);
  const uploads = at.start();
  await uploads.prune();
  // By another hand, so it was not noted: the next look at all of them finds it.
  for (const file of ['1', '2', '3', '4', '5']) await at.upload('unseen', file);
  for (const file of ['1', '2', '3', '4', '5']) {
    await at.clock.advance(1_000);
    await at.upload('noted', file, uploads);
  }
  await uploads.prune();
  expect([await at.files('noted'), (await at.files('unseen')).length]).toEqual([['3', '4', '5'], 5]);
  await at.clock.advance(LIMITS.keepMs + DAY_MS);
  await uploads.prune();
  expect([await at.files('noted'), await at.files('unseen')]).toEqual([[], []]);
});

test('what an earlier process of the day stored counts after a restart, also before midnight', async () => {
  await using dir = await tempDir();
  const at = await scene(dir.path);
  const before = at.start();
  await before.prune();
  for (const file of ['1', '2', '3', '4']) {
    await at.clock.advance(1_000);
    await at.upload('one', file, before);
  }
  await at.clock.advance(DAY_MS / 2);
  await at.start().prune();
  expect(await at.files('one')).toEqual(['2', '3', '4']);
});

test('an index that is lost, torn or forged leads to another look at all, and never out of the data directory', async () => {
  await using dir = await tempDir();
  const at = await scene(dir.path);
  const uploads = at.start();
  await uploads.prune();
  const file = join(dir.path, 'upload-days/2025-01-01');
  await writeFile(file, '../../etc\nworkspaces/../x\n/workspaces/a/b\nworkspaces/ad');
  await uploads.prune();
  expect(await at.days()).toEqual(['walked']);
  await writeFile(join(dir.path, 'upload-days/walked'), 'no date');
  for (const name of ['1', '2', '3', '4']) await at.upload('one', name);
  await at.start().prune();
  expect((await at.files('one')).length).toBe(3);
});
