import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from './errno.ts';

/**
 * Removes a directory that programs wrote in, with all that is in it; nothing there is no failure. Opens
 * directories that their owner may not write in, as `go mod download` leaves them, and never what a link
 * leads to. Rejects with the system's error, as where a part belongs to another user.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM')) throw error;
    await openDirectories(path);
    await rm(path, { recursive: true, force: true });
  }
}

/**
 * Does what writes in a directory, also where a program has taken the right to from us. `self`: a path of the
 * directory that no link can take, as of an open one. Rejects as `work` does.
 */
export async function writeIn<T>({ self }: { readonly self: string }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM')) throw error;
    // Where it is another user's, the reason is what `work` said.
    await chmod(self, 0o700).catch(() => Promise.reject(error));
    return await work();
  }
}

/** Never rejects: what it could not open is named by the removal that follows. */
async function openDirectories(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isDirectory()) return;
    await chmod(path, 0o700);
    for (const entry of await readdir(path, { withFileTypes: true }))
      if (entry.isDirectory()) await openDirectories(join(path, entry.name));
  } catch {
    // What is gone meanwhile needs nothing.
  }
}
