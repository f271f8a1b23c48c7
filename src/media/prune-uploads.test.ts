import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { pruneAllUploads } from './prune-uploads.ts';

const NOW = Date.UTC(2026, 0, 31);
const DAY_MS = 86_400_000;
const LIMITS = { keepMs: 30 * DAY_MS, bytes: 1024 ** 3 };
const { signal } = new AbortController();

async function upload(
  dir: string,
  session: string,
  name: string,
  ageDays: number,
  { bytes = 10, at: place = 'uploads' } = {},
): Promise<string> {
  const folder = join(dir, 'workspaces/ada', session, place);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), 'x'.repeat(bytes));
  const at = (NOW - ageDays * DAY_MS) / 1_000;
  await utimes(join(folder, name), at, at);
  return folder;
}

test('what people sent goes after 30 days, in every conversation', async () => {
  await using dir = await tempDir();
  const one = await upload(dir.path, 'one', 'old.pdf', 31);
  await upload(dir.path, 'one', 'new.pdf', 29);
  const two = await upload(dir.path, 'two', 'old.pdf', 400);
  await pruneAllUploads(dir.path, NOW, LIMITS, signal);
  expect(await readdir(one)).toEqual(['new.pdf']);
  expect(await readdir(two)).toEqual([]);
});

test('what tools said that was too large to be shown goes likewise', async () => {
  await using dir = await tempDir();
  const at = '.gatehouse/outputs';
  await upload(dir.path, 'one', 'old.txt', 31, { at });
  const outputs = await upload(dir.path, 'one', 'new.txt', 29, { at });
  await pruneAllUploads(dir.path, NOW, LIMITS, signal);
  expect(await readdir(outputs)).toEqual(['new.txt']);
});

test('of a conversation with too much the oldest go first', async () => {
  await using dir = await tempDir();
  for (const age of [1, 2, 3, 4]) await upload(dir.path, 'one', `${age}.bin`, age, { bytes: 100 });
  const folder = await upload(dir.path, 'one', '5.bin', 5, { bytes: 100 });
  await pruneAllUploads(dir.path, NOW, { keepMs: 30 * DAY_MS, bytes: 350 }, signal);
  expect((await readdir(folder)).sort()).toEqual(['1.bin', '2.bin', '3.bin']);
});

test('a folder that cannot be read is told at the end, and keeps no other from being pruned', async () => {
  await using dir = await tempDir();
  const good = await upload(dir.path, 'z', 'old.pdf', 31);
  await mkdir(join(dir.path, 'workspaces/aaa'), { recursive: true });
  // Not a directory by the time it is opened.
  await writeFile(join(dir.path, 'workspaces/aaa/file'), '');
  await expect(pruneAllUploads(dir.path, NOW, LIMITS, signal)).rejects.toThrow();
  expect(await readdir(good)).toEqual([]);
});

test('A21 a folder that a tool replaced by a link is left alone, and so is what it leads to', async () => {
  await using dir = await tempDir();
  const elsewhere = await upload(dir.path, 'other', 'old.pdf', 1);
  await mkdir(join(dir.path, 'workspaces/ada/bad'), { recursive: true });
  await symlink(elsewhere, join(dir.path, 'workspaces/ada/bad/uploads'));
  await pruneAllUploads(dir.path, NOW, { keepMs: 30 * DAY_MS, bytes: 1_000 }, signal);
  await pruneAllUploads(join(dir.path, 'nothing'), NOW, LIMITS, signal);
  expect(await readdir(elsewhere)).toEqual(['old.pdf']);
});

test('what is too old goes also where a program forbade to write', async () => {
  await using dir = await tempDir();
  const folder = await upload(dir.path, 'one', 'old.pdf', 31);
  const unpacked = await upload(dir.path, 'one', 'file', 31, { at: 'uploads/unpacked' });
  await utimes(unpacked, (NOW - 31 * DAY_MS) / 1_000, (NOW - 31 * DAY_MS) / 1_000);
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
  if (isRoot)
    for (const path of [dir.path, folder, unpacked, join(unpacked, 'file'), join(folder, 'old.pdf')])
      await chown(path, 65_534, 65_534);
  for (const path of [unpacked, folder]) await chmod(path, 0o555);
  // In a process of its own, as a user whom permissions bind.
  const module = JSON.stringify(new URL('./prune-uploads.ts', import.meta.url).href);
  const program = `const { pruneAllUploads } = await import(${module});
    await pruneAllUploads(${JSON.stringify(dir.path)}, ${NOW}, ${JSON.stringify(LIMITS)}, new AbortController().signal);`;
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', program], { ...user, encoding: 'utf8' }).stderr).toBe('');
  expect(await readdir(folder)).toEqual([]);
});
