import type { Dirent } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../lib/errno.ts';

/** So much each entry of many counts at least, on average: a disk has an end of entries too. Bytes. */
export const ENTRY_BYTES = 4_096;
/** So many entries count as their sizes alone. */
const FEW_ENTRIES = 1_000;
/** Entries that are read at once: a program may have made millions in one directory. */
const READ_AT_ONCE = 256;

interface WalkOptions {
  readonly signal?: AbortSignal;
  /** Nothing more is counted once there is more than this. Bytes; default: there is no such limit. */
  readonly most?: number;
}

/**
 * What all that lies there takes up: the sizes of its files, or 4,096 bytes for each file and directory
 * beyond the first thousand where that is more. Links are not followed.
 */
export async function bytesBelow(
  directory: string,
  { signal, most = Number.POSITIVE_INFINITY }: WalkOptions = {},
): Promise<number> {
  let [sizes, entries] = [0, 0];
  const counted = (): number => Math.max(sizes, (entries - FEW_ENTRIES) * ENTRY_BYTES);
  const walk = async (dir: string): Promise<void> => {
    const inner: string[] = [];
    for await (const entry of entriesOf(dir)) {
      signal?.throwIfAborted();
      entries += 1;
      if (entry.isDirectory()) inner.push(entry.name);
      else sizes += await lstat(join(dir, entry.name)).then(({ size }) => size, gone(0));
      if (counted() > most) return;
    }
    // Only now, so that one directory is open at a time.
    for (const name of inner) {
      await walk(join(dir, name));
      if (counted() > most) return;
    }
  };
  await walk(directory);
  return counted();
}

/**
 * None where there is nothing any more, since turns and housekeeping remove files meanwhile, and where a path
 * is longer than the system takes or a program took away the right to look: one person's must not keep the
 * files of all out.
 */
export async function* entriesOf(directory: string): AsyncGenerator<Dirent, void, undefined> {
  try {
    for await (const entry of await opendir(directory, { bufferSize: READ_AT_ONCE })) yield entry;
  } catch (error) {
    gone(undefined)(error);
  }
}

function gone<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES', 'EPERM')) return value;
    throw error;
  };
}
