import { constants } from 'node:fs';
import { chown, type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { isErrno } from './errno.ts';

/** `O_PATH`: holds what lies there without opening it, so no pipe waits, and closing it frees no lock. */
const O_PATH = 0o10000000;

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
 * lies on the way to it, and all that is in it. Follows no link, since that user may have put it there, also
 * while this looks: each file is held before it is judged, and what is in a directory is reached through the
 * one that is held. That takes the `/proc` of Linux; elsewhere, and where the system does not let root give
 * something away, it stays root's.
 */
export async function giveToOwner(dir: string, path: string): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return;
  await using top = await hold(dir, constants.O_DIRECTORY);
  const owner = await top?.stat();
  if (!top || !owner || owner.uid === 0) return;
  const names = relative(dir, path).split(sep);
  await giveBelow(top, names[0] === '' ? [] : names, owner);
}

/** The same at the end of a block, however it ends. */
export function givingToOwner(dir: string, ...names: readonly string[]): AsyncDisposable {
  return {
    [Symbol.asyncDispose]: async () => {
      for (const name of names) await giveToOwner(dir, join(dir, name));
    },
  };
}

/** What the names lead to below the directory, with the way there; where they end, all that is in it. */
async function giveBelow(directory: FileHandle, [name, ...more]: readonly string[], owner: Owner): Promise<void> {
  const at = pathOf(directory);
  for (const each of name === undefined ? await readdir(at) : [name]) {
    await using held = await hold(join(at, each), constants.O_NOFOLLOW);
    if (held && (await give(held, owner)) === 'directory') await giveBelow(held, more, owner);
  }
}

async function hold(path: string, flags: number): Promise<FileHandle | undefined> {
  return await open(path, O_PATH | flags).catch((error: unknown) => {
    if (!isErrno(error, 'ENOENT', 'ENOTDIR')) throw error;
    return undefined;
  });
}

/** Leads to what is held, whatever has its name by now. */
function pathOf(held: FileHandle): string {
  return `/proc/self/fd/${held.fd}`;
}

/** Gives away what is root's, and tells what it is. A second name of a file may lie elsewhere. */
async function give(held: FileHandle, { uid, gid }: Owner): Promise<'directory' | 'other'> {
  const about = await held.stat();
  if (about.uid === 0 && (about.isDirectory() || about.nlink === 1)) await chown(pathOf(held), uid, gid).catch(ignoreRefusal);
  return about.isDirectory() ? 'directory' : 'other';
}

/** Of the system, to give a file away. */
export function ignoreRefusal(error: unknown): void {
  if (!isErrno(error, 'EPERM', 'EINVAL', 'ENOENT')) throw error;
}
