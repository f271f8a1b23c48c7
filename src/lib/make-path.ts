import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrno } from './errno.ts';

/**
 * Makes a directory and those above it that are absent. Not Node's `recursive`: that asks for ever where a
 * parent is there and the system says ENOENT all the same, as below /proc, and says ENOENT of a file system
 * that is read-only.
 */
export async function makePath(dir: string, options: { readonly mode?: number } = {}): Promise<void> {
  try {
    await mkdir(dir, options);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return;
    if (!isErrno(error, 'ENOENT') || dirname(dir) === dir) throw error;
    await makePath(dirname(dir), options);
    await mkdir(dir, options).catch((again: unknown) => {
      if (!isErrno(again, 'EEXIST')) throw again;
    });
  }
}
