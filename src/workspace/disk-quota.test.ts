import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { DiskQuota } from './disk-quota.ts';

const MIB = 1024 ** 2;
const signal = new AbortController().signal;

async function scene() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const at = { free: 1_000 * MIB, limits: { person_mb: 3, total_mb: 5, reserve_mb: 100 } };
  const quota = new DiskQuota({ dataDir: dir.path, limits: () => at.limits, clock, free: async () => at.free });
  const workspace = async (user: string, name = 'w') => {
    const path = join(dir.path, 'users', user, 'workspaces', name);
    await mkdir(join(path, 'uploads'), { recursive: true });
    return path;
  };
  return Object.assign(at, { clock, quota, workspace, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() });
}

const refused = (reason: string) => ({ code: 'GH1508', message: expect.stringContaining(reason) });

test('a person has so much for all conversations together, files that lie there included', async () => {
  await using at = await scene();
  const [one, two] = [await at.workspace('ada', 'one'), await at.workspace('ada', 'two')];
  await writeFile(join(one, 'uploads', 'x'), Buffer.alloc(2 * MIB));
  await at.quota.claim(two, MIB);
  await expect(at.quota.claim(two, 1)).rejects.toMatchObject(refused('files of this chat may take up 3 MB'));
  await at.quota.claim(await at.workspace('bob'), 3 * MIB);
  // What was removed counts no more once it is looked at again.
  await rm(join(one, 'uploads', 'x'));
  await at.clock.advance(61_000);
  await at.quota.claim(two, 3 * MIB);
});

test('of ten claims that come together so many fit as there is room for', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  const claims = await Promise.allSettled(Array.from({ length: 10 }, () => at.quota.claim(workspace, MIB)));
  expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
});

test('all people together have so much', async () => {
  await using at = await scene();
  await writeFile(join(await at.workspace('ada'), 'x'), Buffer.alloc(2 * MIB));
  await at.quota.measureAll(signal);
  await at.quota.claim(await at.workspace('bob'), 3 * MIB);
  await expect(at.quota.claim(await at.workspace('eve'), 1)).rejects.toMatchObject(
    refused('files of all chats may take up 5 MB'),
  );
});

test('a part of the disk stays free, also where the size of a file is not known', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  at.free = 101 * MIB;
  await at.quota.claim(workspace, MIB);
  await expect(at.quota.claim(workspace, MIB + 1)).rejects.toMatchObject(refused('less than 100 MB of the disk'));
  at.free = 99 * MIB;
  await expect(at.quota.claim(workspace, 0)).rejects.toMatchObject({ code: 'GH1508' });
});

test('limits that change hold from the next claim on', async () => {
  await using at = await scene();
  const workspace = await at.workspace('ada');
  await expect(at.quota.claim(workspace, 4 * MIB)).rejects.toMatchObject({ code: 'GH1508' });
  at.limits = { ...at.limits, person_mb: 4 };
  await at.quota.claim(workspace, 4 * MIB);
});
