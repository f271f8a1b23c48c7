/** The few ways this folder touches the disk. All reject with the system's error. */
import { closeSync, constants, fdatasync, ftruncate, openSync, readFileSync, statSync, write } from 'node:fs';
import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { syncDirectory } from '../src/lib/atomic-file.ts';
import { isErrno } from '../src/lib/errno.ts';

export const FILE_MODE = 0o600;
export const DIRECTORY_MODE = 0o700;

const NEWLINE = 0x0a;

/** Files whose end may never reach the disk: a sync of it failed, and it was not cut off. */
const doubtful = new Set<string>();

/**
 * For archives and quarantines: appended, created when absent, and on disk when it resolves. What the file
 * ends with already is synced and not put there again: the caller's next step may have failed, and each
 * further attempt would fill the disk. The first line begins a line of its own behind one that a kill cut
 * off; what a failed write or sync left is cut off again.
 */
export async function appendSynced(path: string, data: Uint8Array): Promise<void> {
  const file = await open(path, 'a+', FILE_MODE);
  try {
    const { size } = await file.stat();
    const isThere = !doubtful.has(path) && (await endsWith(file, data, size));
    const last = size === 0 ? NEWLINE : (await readAt(file, size - 1, 1))[0];
    try {
      if (!isThere) await file.appendFile(last === NEWLINE ? data : Buffer.concat([Buffer.of(NEWLINE), data]));
      await file.sync();
    } catch (error) {
      // Bytes that were there already may be those that a kill left unsynced: a second sync would not tell.
      if (isThere) doubtful.add(path);
      else await file.truncate(size).catch(() => doubtful.add(path));
      throw error;
    }
    doubtful.delete(path);
  } finally {
    await file.close();
  }
  await syncDirectory(dirname(path));
}

/** Whether the last lines of the file are these. `size`: of the file. */
async function endsWith(file: FileHandle, data: Uint8Array, size: number): Promise<boolean> {
  const start = size - data.length;
  if (start < 0) return false;
  if (start > 0 && (await readAt(file, start - 1, 1))[0] !== NEWLINE) return false;
  return (await readAt(file, start, data.length)).equals(data);
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

const [writeSome, syncData, cutTo] = [promisify(write), promisify(fdatasync), promisify(ftruncate)];

/** Why a file did not grow. */
interface AppendFailure {
  readonly error: unknown;
  /** The file has the size that it had. */
  readonly isCutOff: boolean;
}

/**
 * Appends to a file of `bytes` bytes and syncs it, also when there is nothing to append; resolves with what
 * failed. After a failed write or sync the kernel may hold lines that never reach the disk, and a second sync
 * would not say so: they are cut off, so that the caller's retry writes them again. Rejects where the file
 * cannot be opened. Only what waits for the disk goes through the thread pool.
 */
export async function appendToExisting(path: string, data: Uint8Array, bytes: number): Promise<AppendFailure | undefined> {
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND);
  try {
    for (let at = 0; at < data.length; ) at += (await writeSome(file, data, at)).bytesWritten;
    await syncData(file);
    return undefined;
  } catch (error) {
    const isCutOff = await cutTo(file, bytes).then(
      () => true,
      () => false,
    );
    return { error, isCutOff };
  } finally {
    closeSync(file);
  }
}

/** Files whose way is known to be synced: about 3 MB. */
const MOST_PLACES = 20_000;

/**
 * The directories above session files: each holds the name of the next, so each must be on disk before the
 * file counts as kept. Below the data directory lies `users/<user>/sessions/<file>`.
 */
export class Places {
  #isRootSynced = false;
  /** Files that are on their way once and for all, those that were synced first first. */
  readonly #synced = new Set<string>();

  /** From the file's own directory up. Once for a file, in the life of a process. */
  async sync(path: string): Promise<void> {
    if (this.#synced.has(path)) return;
    await syncDirectory(dirname(path));
    await this.syncAbove(path);
  }

  /** As `sync`, where the file's own directory was just synced. */
  async syncAbove(path: string): Promise<void> {
    if (this.#synced.has(path)) return;
    const user = dirname(dirname(path));
    const users = dirname(user);
    await syncDirectory(user);
    await syncDirectory(users);
    // Its one entry on the way is `users`, which is there for good: once in the life of a process is enough.
    if (!this.#isRootSynced) await syncDirectory(dirname(users));
    this.#isRootSynced = true;
    this.#synced.add(path);
    for (const oldest of this.#synced) {
      if (this.#synced.size <= MOST_PLACES) return;
      this.#synced.delete(oldest);
    }
  }

  /** Called when the file or a directory of it may have gone. */
  forget(path: string): void {
    this.#synced.delete(path);
  }
}

/** Small files pass by the thread pool: no turn waits for its session behind the file syncs of others. */
const READ_AT_ONCE = 64 * 1024;

export async function readIfPresent(path: string): Promise<Buffer | undefined> {
  try {
    const size = sizeOf(path);
    if (size === undefined) return undefined;
    return size <= READ_AT_ONCE ? readFileSync(path) : await readFile(path);
  } catch (error) {
    // It went after it was looked at.
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Size in bytes; undefined when there is no such file. Most lookups find none, and an exception for each
 * would cost more than the lookup.
 */
export function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

export async function removeFile(path: string): Promise<void> {
  if (sizeOf(path) === undefined) return;
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}
