import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../lib/errno.ts';

/** Sizes of all that lies there. Links are not followed. */
export async function bytesBelow(directory: string, signal?: AbortSignal): Promise<number> {
  let bytes = 0;
  for (const entry of await entriesOf(directory)) {
    signal?.throwIfAborted();
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += await bytesBelow(path, signal);
    else bytes += await lstat(path).then(({ size }) => size, gone(0));
  }
  return bytes;
}

/**
 * None where there is nothing any more, since turns and housekeeping remove files meanwhile, and where a path
 * is longer than the system takes or a program took away the right to look: one person's must not keep the
 * files of all out.
 */
export async function entriesOf(directory: string) {
  return await readdir(directory, { withFileTypes: true }).catch(gone([]));
}

function gone<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES', 'EPERM')) return value;
    throw error;
  };
}
