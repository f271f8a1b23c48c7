import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { moveWorkspaces } from './move-workspaces.ts';

async function put(dir: string, path: string, text: string): Promise<void> {
  await mkdir(join(dir, path, '..'), { recursive: true });
  await writeFile(join(dir, path), text);
}

it('workspaces of earlier versions move with all that is in them, once', async () => {
  await using dir = await tempDir();
  await put(dir.path, 'users/ann/workspaces/a1/uploads/x.txt', 'x');
  await put(dir.path, 'users/bob/workspaces/b1/y.txt', 'y');
  await put(dir.path, 'users/bob/sessions/default.jsonl', '');
  expect(await moveWorkspaces(dir.path)).toBe(2);
  expect(await moveWorkspaces(dir.path)).toBe(0);
  expect(await readFile(join(dir.path, 'workspaces/ann/a1/uploads/x.txt'), 'utf8')).toBe('x');
  expect(await readdir(join(dir.path, 'users/ann'))).toEqual([]);
  expect(await readdir(join(dir.path, 'users/bob'))).toEqual(['sessions']);
});

it('what a kill left in two places is moved on, and no workspace is written over', async () => {
  await using dir = await tempDir();
  await put(dir.path, 'users/ann/workspaces/a1/old', '');
  await put(dir.path, 'users/ann/workspaces/a2/old', '');
  await put(dir.path, 'workspaces/ann/a1/new', '');
  expect(await moveWorkspaces(dir.path)).toBe(1);
  expect(await readdir(join(dir.path, 'workspaces/ann/a1'))).toEqual(['new']);
  expect(await readdir(join(dir.path, 'workspaces/ann/a2'))).toEqual(['old']);
  expect(await readdir(join(dir.path, 'users/ann/workspaces'))).toEqual(['a1']);
});

it('a new data directory has nothing to move, but the directory that the worker is shown', async () => {
  await using dir = await tempDir();
  const made = join(dir.path, 'new');
  expect(await moveWorkspaces(made)).toBe(0);
  expect(await readdir(join(made, 'workspaces'))).toEqual([]);
  expect((await stat(join(made, 'workspaces'))).mode & 0o777).toBe(0o700);
});

it('workspaces move to another volume too, links as they are', async (context) => {
  await using dir = await tempDir();
  await using volume = await tempDir('/var/tmp');
  if ((await stat(volume.path)).dev === (await stat(dir.path)).dev) context.skip('there is one volume only');
  await symlink(volume.path, join(dir.path, 'workspaces'));
  await put(dir.path, 'users/ann/workspaces/a1/x.txt', 'x');
  await symlink('../../../secret', join(dir.path, 'users/ann/workspaces/a1/link'));
  await put(volume.path, 'ann/a1.partial/torn', '');
  expect(await moveWorkspaces(dir.path)).toBe(1);
  expect(await readFile(join(volume.path, 'ann/a1/x.txt'), 'utf8')).toBe('x');
  expect(await readlink(join(volume.path, 'ann/a1/link'))).toBe('../../../secret');
  expect(await readdir(join(volume.path, 'ann'))).toEqual(['a1']);
  expect(await readdir(join(dir.path, 'users/ann'))).toEqual([]);
});
