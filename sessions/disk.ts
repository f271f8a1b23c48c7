/** The few ways this folder touches the disk. All reject with the system's error. */
import { readFileSync, statSync } from 'node:fs';
import { open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../src/lib/atomic-file.ts';

export const FILE_MODE = 0o600;
export const DIRECTORY_MODE = 0o700;

/** For archives and quarantines: appended, created when absent, and on disk when it resolves. */
export async function appendSynced(path: string, data: Uint8Array): Promise<void> {
  const file = await open(path, 'a', FILE_MODE);
  try {
    await file.appendFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncDirectory(dirname(path));
}

/** sessions, the user's directory, users, and the data directory: each name on the way to the file must be on disk. */
export async function syncPlace(path: string): Promise<void> {
  let directory = dirname(path);
  for (let level = 0; level < 4; level += 1) {
    await syncDirectory(directory);
    directory = dirname(directory);
  }
}

/** A turn that needs its session must not queue behind the file syncs of all others, so small files pass by the thread pool. */
const READ_AT_ONCE = 64 * 1024;

export async function readIfPresent(path: string): Promise<Buffer | undefined> {
  try {
    const { size } = statSync(path);
    return size <= READ_AT_ONCE ? readFileSync(path) : await readFile(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export async function removeFile(path: string): Promise<void> {
  if ((await sizeOf(path)) === undefined) return;
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
