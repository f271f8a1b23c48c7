import { constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, symlink } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isErrno } from '../lib/errno.ts';

export interface Copied {
  files: number;
  bytes: number;
  /** What has no copy, by its path below the source, each with the reason. */
  readonly left: string[];
}

export interface CopyOptions {
  /** Without links on its way. */
  readonly from: string;
  readonly to: string;
  /** Whether this is copied; asked with the path below `from`. */
  readonly takes: (path: string) => boolean;
  /**
   * Copies what is a database in use, instead of its bytes, and resolves with the size of the copy. Undefined
   * = it is none.
   */
  readonly database: (path: string) => Promise<number> | undefined;
}

/**
 * What the file beside it is emptied into: copied before that file, it could lack lines which the other has
 * lost by then.
 */
const LAST = /\.(archive|quarantine)\.jsonl$/;
const CHUNK_BYTES = 1024 * 1024;
/** Not followed if it has become a link by now, and not waited for if it has become a pipe. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Copies what lies below a directory in use onto the disk, with permissions and times. A file that grows is
 * copied up to where it was; one that goes meanwhile is left out. A link directly below `from` that leads to
 * a directory is followed, since an operator puts state on another disk by one; any other is copied as a link
 * where it leads to something below `from`, and left where it leads elsewhere. Rejects with the system's
 * error where the copy cannot be written; what is copied by then stays.
 */
export async function copyTree(options: CopyOptions): Promise<Copied> {
  const copied: Copied = { files: 0, bytes: 0, left: [] };
  await copyDirectory({ ...options, copied }, '', options.from);
  return copied;
}

interface Copy extends CopyOptions {
  readonly copied: Copied;
}

async function copyDirectory(copy: Copy, below: string, source: string): Promise<void> {
  const entries = await reading(copy, below, async () => {
    // One that became a link meanwhile is another directory.
    if ((await realpath(source)) !== source) return [];
    return await readdir(source, { withFileTypes: true });
  });
  if (!entries) return;
  // Its owner may write to it, whatever it says of the original: what it holds comes after.
  const mode = (await lstat(source).catch(() => undefined))?.mode ?? 0o700;
  await mkdir(join(copy.to, below), { recursive: true, mode: (mode & 0o777) | 0o700 });
  const isLast = ({ name }: Dirent): boolean => LAST.test(name);
  for (const entry of [...entries.filter((one) => !isLast(one)), ...entries.filter(isLast)]) {
    const path = join(below, entry.name);
    if (!copy.takes(path)) continue;
    if (entry.isDirectory()) await copyDirectory(copy, path, join(source, entry.name));
    else if (entry.isSymbolicLink()) await copyLink(copy, path, join(source, entry.name));
    else if (entry.isFile()) await copyFile(copy, path, join(source, entry.name));
    else if (!entry.isSocket()) copy.copied.left.push(`${path} (no file)`);
  }
}

async function copyLink(copy: Copy, path: string, source: string): Promise<void> {
  const target = await realpath(source).catch(() => undefined);
  if (target !== undefined && !path.includes(sep) && (await lstat(target)).isDirectory()) {
    await copyDirectory(copy, path, target);
    return;
  }
  const way = await reading(copy, path, () => readlink(source));
  if (way === undefined) return;
  if (target?.startsWith(copy.from + sep)) await symlink(way, join(copy.to, path));
  else copy.copied.left.push(`${path} (a link to ${way})`);
}

async function copyFile(copy: Copy, path: string, source: string): Promise<void> {
  const database = copy.database(path);
  if (database) {
    copy.copied.bytes += await database;
    copy.copied.files += 1;
    return;
  }
  const file = await reading(copy, path, () => open(source, READ));
  if (!file) return;
  await using from = file;
  const about = await from.stat();
  if (!about.isFile()) return;
  await using to = await open(join(copy.to, path), 'wx', about.mode & 0o777);
  await copyBytes(from, to, about.size);
  await to.chmod(about.mode & 0o777);
  await to.utimes(about.atime, about.mtime);
  await to.sync();
  copy.copied.bytes += about.size;
  copy.copied.files += 1;
}

async function copyBytes(from: FileHandle, to: FileHandle, size: number): Promise<void> {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(size, 1)));
  for (let at = 0; at < size; ) {
    const { bytesRead } = await from.read(chunk, 0, Math.min(chunk.length, size - at), at);
    if (bytesRead === 0) return;
    await to.writeFile(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** Undefined for what went, became something else, or may not be read; the last is told. */
async function reading<T>({ copied }: Copy, path: string, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM')) copied.left.push(`${path} (may not be read)`);
    else if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO')) throw error;
    return undefined;
  }
}
