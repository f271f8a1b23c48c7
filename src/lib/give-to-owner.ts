import { lchown, lstat, readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { isErrno } from './errno.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Who is to have what this process makes in the directory: its owner, where the process is root's. The daemon
 * may be another user than root, who runs a command, and could not read what the command makes for it.
 * Undefined = nothing is to be given away: the process is not root's, or the directory is, or is not there.
 */
export async function ownerFor(dir: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const about = await stat(dir).catch(() => undefined);
  return about && about.uid !== 0 ? { uid: about.uid, gid: about.gid } : undefined;
}

/**
 * Gives what is root's at a path below the directory to the owner of the directory: the path itself, what
 * lies on the way to it, and all that is in it. Follows no link, since that user may have put it there. What
 * the system does not let root give away stays root's.
 */
export async function giveToOwner(dir: string, path: string): Promise<void> {
  const owner = await ownerFor(dir);
  if (!owner) return;
  const parts = relative(dir, path).split(sep);
  for (let depth = 1; depth < parts.length; depth += 1)
    if ((await give(join(dir, ...parts.slice(0, depth)), owner)) !== 'directory') return;
  await giveTree(path, owner);
}

/** The same at the end of a block, however it ends. */
export function givingToOwner(dir: string, ...names: readonly string[]): AsyncDisposable {
  return {
    [Symbol.asyncDispose]: async () => {
      for (const name of names) await giveToOwner(dir, join(dir, name));
    },
  };
}

/** Gives away what is root's there, and tells what it is. A second name of a file may lie elsewhere. */
export async function give(path: string, { uid, gid }: Owner): Promise<'directory' | 'other'> {
  const about = await lstat(path).catch(() => undefined);
  if (about?.uid === 0 && (about.isDirectory() || about.nlink === 1))
    await lchown(path, uid, gid).catch((error: unknown) => {
      if (!isErrno(error, 'EPERM', 'EINVAL', 'ENOENT')) throw error;
    });
  return about?.isDirectory() ? 'directory' : 'other';
}

async function giveTree(path: string, owner: Owner): Promise<void> {
  if ((await give(path, owner)) !== 'directory') return;
  for (const name of await readdir(path)) await giveTree(join(path, name), owner);
}
