// Reads a directory in use in which other processes swap names for links. Paths are bytes, since a name need
// not be UTF-8, and without links on their way.
import { type BigIntStats, constants, type Dirent, existsSync } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readlink, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { NoCopy, ofSource, REPLACED } from './no-copy.ts';

/** A pipe is not waited for. */
const FILE = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const DIRECTORY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_DIRECTORY ?? 0);
/** Where files are replaced again and again, the name may lead to a newer one at each look. */
const LOOKS = 5;
/** Without the kernel's word, two swaps could pass one round: one before each of its two looks. */
const ROUNDS = 4;
/** What the kernel adds to the path of a file whose name is gone or leads to a newer one. */
const DELETED = Buffer.from(' (deleted)');

export interface Entry {
  readonly name: Buffer;
  readonly kind: 'file' | 'directory' | 'link' | 'socket' | 'other';
  /** The text of a link. */
  readonly leadsTo?: Buffer;
}

export interface Listing {
  /** In the order of their bytes. */
  readonly entries: readonly Entry[];
  readonly about: BigIntStats;
}

export interface SourceOptions {
  /** Whether `/proc/self/fd` tells what was opened. Default: where the system has it. */
  readonly procFd?: boolean | undefined;
}

export function joined(directory: Buffer, name: Buffer): Buffer {
  return directory.length === 0 ? name : Buffer.concat([directory, Buffer.from(sep), name]);
}

/** Whether `path` is `root` or lies below it. */
export function isWithin(path: Buffer, root: Buffer): boolean {
  return path.equals(root) || path.subarray(0, root.length + 1).equals(Buffer.concat([root, Buffer.from(sep)]));
}

/**
 * Opens what lies at this very path and nowhere else, and follows no link on the way. Rejects with `NoCopy`.
 */
export async function openSource(path: Buffer, kind: 'file' | 'directory', options: SourceOptions): Promise<FileHandle> {
  return await ofSource(async () => {
    for (let look = 1; look <= LOOKS; look += 1) {
      const handle = await open(path, kind === 'file' ? FILE : DIRECTORY);
      try {
        if (await isAt(handle, path, options)) return handle;
      } catch (error) {
        await handle.close();
        throw error;
      }
      await handle.close();
    }
    throw new NoCopy(REPLACED);
  });
}

/** `O_NOFOLLOW` guards the last name alone: a directory above it may have become a link since it was read. */
async function isAt(handle: FileHandle, path: Buffer, { procFd = hasProcFd() }: SourceOptions): Promise<boolean> {
  if (procFd) {
    const at = await readlink(`/proc/self/fd/${handle.fd}`, { encoding: 'buffer' });
    return at.equals(path) || at.equals(Buffer.concat([path, DELETED]));
  }
  const opened = await handle.stat({ bigint: true });
  for (let round = 1; round <= ROUNDS; round += 1)
    if (!isSame(opened, await lstat(path, { bigint: true })) || !(await isReal(path))) return false;
  return true;
}

function hasProcFd(): boolean {
  return process.platform === 'linux' && existsSync('/proc/self/fd');
}

async function isReal(path: Buffer): Promise<boolean> {
  return (await realpath(path, { encoding: 'buffer' })).equals(path);
}

export function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

/** What lies in a directory, with the texts of its links. Rejects with `NoCopy`. */
export async function readDirectory(path: Buffer, options: SourceOptions): Promise<Listing> {
  await using handle = await openSource(path, 'directory', options);
  return await ofSource(async () => {
    const about = await handle.stat({ bigint: true });
    const { procFd = hasProcFd() } = options;
    const here = procFd ? Buffer.from(`/proc/self/fd/${handle.fd}`) : path;
    const found = await readdir(here, { withFileTypes: true, encoding: 'buffer' });
    const entries: Entry[] = [];
    for (const entry of found.toSorted((one, other) => Buffer.compare(one.name, other.name))) {
      const kind = kindOf(entry);
      const leadsTo = kind === 'link' ? await textOf(joined(here, entry.name)) : undefined;
      entries.push({ name: entry.name, kind, ...(leadsTo ? { leadsTo } : {}) });
    }
    // By a path it may have been another directory that was read.
    if (!procFd && !(await isAt(handle, path, options))) throw new NoCopy(REPLACED);
    return { entries, about };
  });
}

function kindOf(entry: Dirent<Buffer>): Entry['kind'] {
  if (entry.isDirectory()) return 'directory';
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isFile()) return 'file';
  return entry.isSocket() ? 'socket' : 'other';
}

/** Undefined for a link that went, or that this user may not read. */
async function textOf(path: Buffer): Promise<Buffer | undefined> {
  return await readlink(path, { encoding: 'buffer' }).catch(() => undefined);
}

/** False where another directory or a link has its name by now. One that is gone counts as still there. */
export async function isStill(path: Buffer, about: BigIntStats): Promise<boolean> {
  try {
    const now = await lstat(path, { bigint: true });
    return isSame(now, about) && (await isReal(path));
  } catch {
    return true;
  }
}
