import { randomBytes } from 'node:crypto';
import { closeSync, constants, fsync, openSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ignoreRefusal, ownerFor } from './give-to-owner.ts';

const syncFile = promisify(fsync);

export interface WriteFileOptions {
  /** Permission bits of the new file, e.g. 0o600; the umask does not widen them. */
  readonly mode: number;
  /** What root writes is the user's whose directory it lies in (`ownerFor`). */
  readonly ofDirectory?: boolean;
}

/**
 * Replaces the file at `path` as one step that survives power loss: readers see the old or the new content,
 * never a part. The directory must exist. A symbolic link at `path` is replaced, not followed. Rejects with
 * the system's error; then the old content is untouched and no temporary file is left.
 */
export async function writeFileAtomic(path: string, data: string | Uint8Array, options: WriteFileOptions): Promise<void> {
  // Same directory, because a rename is atomic within one file system only; a short name, because `path`
  // may use all 255 bytes. With O_EXCL and O_NOFOLLOW no program can have put a link where the temporary
  // file is to be.
  const temporary = join(dirname(path), `.${randomBytes(8).toString('hex')}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  const file = await open(temporary, flags, options.mode);
  try {
    try {
      await file.writeFile(data);
      await file.chmod(options.mode);
      const owner = options.ofDirectory ? await ownerFor(dirname(path)) : undefined;
      if (owner) await file.chown(owner.uid, owner.gid).catch(ignoreRefusal);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

/**
 * Makes names created in, renamed into or removed from a directory survive power loss. Only the sync waits
 * for the disk, so only the sync goes through the thread pool.
 */
export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory for syncing; its file systems order metadata by themselves.
  if (process.platform === 'win32') return;
  const directory = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await syncFile(directory);
  } finally {
    closeSync(directory);
  }
}
