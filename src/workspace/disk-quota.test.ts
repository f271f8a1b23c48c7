import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { DiskQuota } from './disk-quota.ts';
import { WorkspaceDirectory } from './path.ts';
import { bytesBelow } from './tree-size.ts';

const MIB = 1024 ** 2;
const signal = new AbortController().signal;

async function scene() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const at = {
    free: 1_000 * MIB,
    usedEntries: 0,
    freeEntries: 1_000_000,
    limits: { person_mb: 3, total_mb: 5, reserve_mb: 100 },
  };
  const quota = new DiskQuota({
    ...{ dataDir: dir.path, limits: () => at.limits, clock },
    ...{ free: async () => at.free, entries: async () => ({ used: at.usedEntries, free: at.freeEntries }) },
  });
  const workspace = async (user: string, name = 'w') => {
    const path = join(dir.path, 'workspaces', user, name);
    await mkdir(join(path, 'uploads'), { recursive: true });
    return path;
  };
  /** Claims and says that the file lies there. */
  const store = async (path: string, bytes: number): Promise<void> => {
    using room = await quota.claim(path, bytes, signal);
    room.stored(bytes);
  };
  return Object.assign(at, { clock, quota, workspace, store, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() });
}

const refused = (reason: string) => ({ code: 'GH1508', message: expect.stringContaining(reason) });

test('a person has so much for all conversations together, files that lie there included', async () => {
  await using at = await scene();
  at.limits = { ...at.limits, total_mb: 10 };
  const [one, two] = [await at.workspace('ada', 'one'), await at.workspace('ada', 'two')];
  await writeFile(join(one, 'uploads', 'x'), Buffer.alloc(2 * MIB));
  await at.store(two, MIB);
  await expect(at.store(two, 1)).rejects.toMatchObject(refused('files of this chat may take up 3 MB'));
  await at.store(await at.workspace('bob'), 3 * MIB);
  // What was removed counts no more once it is looked at again.
  await rm(join(one, 'uploads', 'x'));
  await at.clock.advance(61_000);
  await at.store(two, 2 * MIB);
});

test('of ten claims that come together so many fit as there is room for', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  const claims = await Promise.allSettled(Array.from({ length: 10 }, () => at.store(workspace, MIB)));
  expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
});

test('all people together have so much', async () => {
  await using at = await scene();
  await writeFile(join(await at.workspace('ada'), 'x'), Buffer.alloc(2 * MIB));
  await at.quota.measureAll(signal);
  await at.store(await at.workspace('bob'), 3 * MIB);
  await expect(at.store(await at.workspace('eve'), 1)).rejects.toMatchObject(refused('files of all chats may take up 5 MB'));
});

test('a part of the disk stays free, also where the size of a file is not known', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  at.free = 101 * MIB;
  await at.store(workspace, MIB);
  await expect(at.store(workspace, MIB + 1)).rejects.toMatchObject(refused('less than 100 MB of the disk'));
  at.free = 99 * MIB;
  await expect(at.store(workspace, 0)).rejects.toMatchObject({ code: 'GH1508' });
});

test('limits that change hold from the next claim on', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  await expect(at.store(workspace, 4 * MIB)).rejects.toMatchObject({ code: 'GH1508' });
  at.limits = { ...at.limits, person_mb: 4 };
  await at.store(workspace, 4 * MIB);
});

test('a file whose size is not known is covered by what is written of it, and not beyond', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  at.free = 102 * MIB;
  using room = await at.quota.claim(workspace, 0, signal);
  for (const written of [1, 2]) {
    await room.cover(written * MIB);
    at.free -= MIB;
  }
  await expect(room.cover(2 * MIB + 1)).rejects.toMatchObject(refused('less than 100 MB of the disk'));
});

test('what is claimed and not written yet is kept free of what others claim', async () => {
  await using at = await scene();
  at.free = 103 * MIB;
  const [ada, bob] = [await at.workspace('ada'), await at.workspace('bob')];
  using room = await at.quota.claim(ada, 2 * MIB, signal);
  const claim = (bytes: number) => at.quota.claim(bob, bytes, signal).then((other) => other[Symbol.dispose]());
  await expect(claim(MIB + 1)).rejects.toMatchObject(refused('less than 100 MB of the disk'));
  await room.cover(MIB);
  at.free -= MIB;
  await expect(claim(MIB + 1)).rejects.toMatchObject(refused('less than 100 MB of the disk'));
  await claim(MIB);
});

test('what was claimed for a file that is not stored is given back at once, for its person and for all', async () => {
  await using at = await scene();
  const [ada, bob] = [await at.workspace('ada'), await at.workspace('bob')];
  {
    using room = await at.quota.claim(ada, 2 * MIB, signal);
    await room.cover(3 * MIB);
    await expect(at.store(ada, 1)).rejects.toMatchObject({ code: 'GH1508' });
    await expect(at.store(bob, 3 * MIB)).rejects.toMatchObject(refused('files of all chats'));
  }
  await at.store(bob, 2 * MIB);
  await at.store(ada, 3 * MIB);
});

test('of a file that is smaller than was said only its bytes are kept', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  {
    using room = await at.quota.claim(workspace, 3 * MIB, signal);
    room.stored(MIB);
  }
  await at.store(workspace, 2 * MIB);
  await expect(at.store(workspace, 1)).rejects.toMatchObject({ code: 'GH1508' });
});

test('the first file after a start waits until all workspaces are counted, and finds the room that there is', async () => {
  await using at = await scene();
  for (const user of ['ada', 'bob']) await writeFile(join(await at.workspace(user), 'x'), Buffer.alloc(2 * MIB));
  const workspace = await at.workspace('eve');
  const claims = await Promise.allSettled(Array.from({ length: 4 }, () => at.store(workspace, MIB / 2)));
  expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
});

test('where workspaces cannot be counted there is no room until they can, which is tried again after a minute', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  // No directory can be read behind a link to itself, not even by root.
  const loop = join(workspace, '../../loop');
  await symlink('loop', loop);
  await expect(at.store(workspace, 1)).rejects.toMatchObject(refused('not counted yet'));
  await rm(loop);
  await expect(at.store(workspace, 1)).rejects.toMatchObject(refused('not counted yet'));
  await at.clock.advance(60_000);
  await at.store(workspace, 1);
});

test.skipIf(!existsSync('/proc/self/fd'))(
  'directories of one person that lie deeper than a path can lead keep no file out',
  async () => {
    await using at = await scene();
    const workspace = await at.workspace('eve');
    const names = Array.from({ length: 17 }, () => 'x'.repeat(255));
    try {
      await using _ = await WorkspaceDirectory.open(workspace, names, { create: true });
      await at.store(await at.workspace('ada'), 1);
      await at.store(workspace, 1);
    } finally {
      execFileSync('rm', ['-rf', join(workspace, 'x'.repeat(255))]);
    }
  },
);

test('before a file is refused because of the total, what was removed meanwhile is looked for', async () => {
  await using at = await scene();
  const old = join(await at.workspace('ada'), 'x');
  await writeFile(old, Buffer.alloc(3 * MIB));
  await at.quota.measureAll(signal);
  await rm(old);
  const workspace = await at.workspace('bob');
  await expect(at.store(workspace, 3 * MIB)).rejects.toMatchObject(refused('files of all chats'));
  await at.clock.advance(600_000);
  await at.store(workspace, 3 * MIB);
});

test('a claim that waits for the count ends with its signal', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  const stop = new AbortController();
  const claim = at.quota.claim(workspace, 1, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(claim).rejects.toThrow('stopped');
});

async function fillers() {
  const at = await scene();
  at.limits = { person_mb: 50, total_mb: 90, reserve_mb: 100 };
  const [ada, bob] = [await at.workspace('ada'), await at.workspace('bob')];
  await at.quota.measureAll(signal);
  const [began, other] = [await at.quota.before(ada), await at.quota.before(bob)];
  const writes = async (path: string, name: string, mib: number): Promise<void> => {
    await writeFile(join(path, name), Buffer.alloc(mib * MIB));
    at.free -= mib * MIB;
  };
  return { at, ada, bob, began, other, writes, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() };
}

test('what programs write without a claim is seen when the disk becomes fuller, and laid to who wrote it', async () => {
  await using scene = await fillers();
  const { at, ada, bob, began, other, writes } = scene;
  await writes(ada, 'one', 40);
  expect(await at.quota.overrun(ada, began)).toBeUndefined();
  await writes(ada, 'two', 20);
  expect(await at.quota.overrun(bob, other)).toBeUndefined();
  expect(await at.quota.overrun(ada, began)).toMatchObject({ code: 'GH1508', message: expect.stringContaining('of this chat') });
  await at.quota.after(ada, began);
  // Also a file that a tool would write is refused now.
  await expect(at.store(ada, MIB)).rejects.toMatchObject(refused('files of this chat may take up 50 MB'));
  await writes(bob, 'three', 45);
  expect(await at.quota.overrun(bob, other)).toMatchObject({ message: expect.stringContaining('files of all chats') });
});

test('a program that was looked at just below its limit is ended once it is beyond, whatever others take meanwhile', async () => {
  await using scene = await fillers();
  const { at, ada, began, writes } = scene;
  for (let n = 0; n < 12; n += 1) await writes(ada, `${n}`, 4);
  at.free -= 20 * MIB;
  expect(await at.quota.overrun(ada, began)).toBeUndefined();
  for (const name of ['a', 'b', 'c', 'd', 'e']) await writes(ada, name, 4);
  expect(await at.quota.overrun(ada, began)).toMatchObject(refused('files of this chat may take up 50 MB'));
});

test('while the disk is short a program that takes room is ended, also where no file shows it', async () => {
  await using scene = await fillers();
  const { at, ada, began } = scene;
  // A file that was removed while it is open.
  at.free = 99 * MIB;
  expect(await at.quota.overrun(ada, began)).toMatchObject({ message: expect.stringContaining('less than 100 MB') });
});

test('two programs of one person at once are counted once, and what they removed counts no more', async () => {
  await using scene = await fillers();
  const { at, ada, bob, began, writes } = scene;
  const second = await at.quota.before(ada);
  await writes(ada, 'one', 40);
  await at.quota.after(ada, began);
  await at.quota.after(ada, second);
  await at.store(bob, 45 * MIB);
  await rm(join(ada, 'one'));
  const third = await at.quota.before(ada);
  at.free += 40 * MIB;
  await at.quota.after(ada, third);
  await at.store(await at.workspace('eve'), 40 * MIB);
});

/** As programs make them: on the disk, and gone from what it has room for. */
async function makesEmpty(at: { usedEntries: number; freeEntries: number }, path: string, count: number): Promise<void> {
  await mkdir(path);
  for (let n = 0; n < count; n += 1) closeSync(openSync(join(path, `${n}`), 'w'));
  at.usedEntries += count;
  at.freeEntries -= count;
}

test('a program that makes files without end is ended, though they are empty', async () => {
  await using scene = await fillers();
  const { at, ada, bob, began, other } = scene;
  at.limits = { person_mb: 20, total_mb: 90, reserve_mb: 100 };
  await makesEmpty(at, join(ada, 'few'), 4_000);
  expect(await at.quota.overrun(ada, began)).toBeUndefined();
  await makesEmpty(at, join(ada, 'more'), 2_200);
  expect(await at.quota.overrun(bob, other)).toBeUndefined();
  expect(await at.quota.overrun(ada, began)).toMatchObject(refused('files of this chat may take up 20 MB'));
  await at.quota.after(ada, began);
  await expect(at.store(ada, 1)).rejects.toMatchObject(refused('files of this chat may take up 20 MB'));
  await rm(join(ada, 'more'), { recursive: true });
  await at.clock.advance(61_000);
  await at.store(ada, 1);
});

test('a program that makes directories without end is ended too, before all of them are counted', async () => {
  await using scene = await fillers();
  const { at, ada, began } = scene;
  at.limits = { person_mb: 20, total_mb: 90, reserve_mb: 100 };
  for (let n = 0; n < 7_000; n += 1) mkdirSync(join(ada, `d${n}`));
  at.usedEntries += 7_000;
  expect(await bytesBelow(ada, { most: 4 * MIB })).toBeLessThan(5 * MIB);
  expect(await at.quota.overrun(ada, began)).toMatchObject(refused('files of this chat may take up 20 MB'));
});

test('while the disk has room for few files a program that makes many is ended, and one that makes none goes on', async () => {
  await using scene = await fillers();
  const { at, ada, bob, began, writes } = scene;
  Object.assign(at, { usedEntries: 980_000, freeEntries: 20_000 });
  const other = await at.quota.before(bob);
  await writes(bob, 'one', 20);
  expect(await at.quota.overrun(bob, other)).toBeUndefined();
  expect(await at.quota.overrun(ada, began)).toMatchObject(refused('room for fewer than 25600 files'));
});

test('where room for files falls with the bytes, what is written counts once', async () => {
  await using scene = await fillers();
  const { at, ada, began, writes } = scene;
  at.limits = { person_mb: 50, total_mb: 90, reserve_mb: 100 };
  const { free } = began;
  await writes(ada, 'one', 20);
  at.freeEntries -= (20 * MIB) / 512;
  expect(await at.quota.overrun(ada, began)).toBeUndefined();
  // A walk would have moved it.
  expect(began.free).toBe(free);
});

test('ordinary files count as their bytes', async () => {
  await using at = await scene();
  const path = await at.workspace('ada');
  await writeFile(join(path, 'large'), Buffer.alloc(100_000));
  await writeFile(join(path, 'small'), 'x');
  expect(await bytesBelow(path)).toBe(100_001);
});
