import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, open, readdir, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../lib/errno.ts';

export interface Copied {
  files: number;
  bytes: number;
  /** What is no file, directory or link, and has no copy: sockets, pipes. */
  readonly left: string[];
}

/**
 * Copies what lies below a directory that may be in use, with its permissions, onto the disk. A file that
 * grows is copied up to where it was; one that goes meanwhile is left out. A link is copied as a link, and
 * not followed. `takes` is asked with the path below `from`. Rejects with the system's error; what is copied
 * by then stays.
 */
export async function copyTree(from: string, to: string, takes: (path: string) => boolean): Promise<Copied> {
  const copied: Copied = { files: 0, bytes: 0, left: [] };
  await copyBelow({ from, to, takes, copied }, '');
  return copied;
}

interface Copy {
  readonly from: string;
  readonly to: string;
  readonly takes: (path: string) => boolean;
  readonly copied: Copied;
}

async function copyBelow(copy: Copy, below: string): Promise<void> {
  const source = join(copy.from, below);
  const about = await lstat(source);
  // Its owner may write to it, whatever it says of the original: what it holds comes after.
  await mkdir(join(copy.to, below), { recursive: true, mode: (about.mode & 0o777) | 0o700 });
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (!copy.takes(path)) continue;
    try {
      if (entry.isDirectory()) await copyBelow(copy, path);
      else await copyOne(copy, path, entry);
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
    }
  }
}

async function copyOne({ from, to, copied }: Copy, path: string, entry: { isFile(): boolean; isSymbolicLink(): boolean }) {
  const [source, target] = [join(from, path), join(to, path)];
  if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
  else if (!entry.isFile()) copied.left.push(path);
  else {
    await copyFile(source, target, constants.COPYFILE_FICLONE);
    const file = await open(target, 'r');
    try {
      await file.sync();
      copied.bytes += (await file.stat()).size;
    } finally {
      await file.close();
    }
    copied.files += 1;
  }
}
