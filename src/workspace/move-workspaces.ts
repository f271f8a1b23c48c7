// users/X/workspaces, of earlier versions -> workspaces/X
import { cp, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../lib/errno.ts';

/**
 * Moves the workspaces of earlier versions to where they lie now. A kill in between leaves the rest to the
 * next start. A workspace that is there already stays as it is, and so does the earlier
 * one. Their directory is there afterwards, also without any: the unit of the worker mounts it. Returns how
 * many were moved.
 */
export async function moveWorkspaces(dataDir: string): Promise<number> {
  await mkdir(join(dataDir, 'workspaces'), { recursive: true, mode: 0o700 });
  let moved = 0;
  for (const user of await names(join(dataDir, 'users'))) {
    const from = join(dataDir, 'users', user, 'workspaces');
    const found = await names(from);
    if (found.length === 0) continue;
    const to = join(dataDir, 'workspaces', user);
    await mkdir(to, { recursive: true, mode: 0o700 });
    const there = new Set(await names(to));
    for (const workspace of found.filter((name) => !there.has(name))) {
      await move(join(from, workspace), join(to, workspace));
      moved += 1;
    }
    await rmdir(from).catch(() => undefined); // something is left in it
  }
  return moved;
}

/** Where the new directory is another volume a copy is made, which has its name once it is whole. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, 'EXDEV')) throw error;
    const partial = `${to}.partial`;
    await rm(partial, { recursive: true, force: true });
    await cp(from, partial, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    await rename(partial, to);
    await rm(from, { recursive: true });
  }
}

async function names(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return [];
    throw error;
  }
}
