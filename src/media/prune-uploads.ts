// data directory -> users/*/workspaces/*/uploads -> files that are old, or too much
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PathRefusal, WorkspaceDirectory } from '../workspace/path.ts';
import { UPLOADS } from './fetch-file.ts';

/** A file that nobody asked about for so long is asked for again. */
const KEEP_MS = 30 * 24 * 3_600_000;
/** Of one conversation; the oldest go first. A full disk would stop every channel. */
const MOST_BYTES = 1024 ** 3;

/**
 * Removes what people sent and nobody will look at again, and in a conversation with too much of it the oldest. Called by housekeeping.
 * Rejects with the first of the directories that could not be read, when the others are done.
 */
export async function pruneUploads(dataDir: string, now: number, limits = { keepMs: KEEP_MS, bytes: MOST_BYTES }): Promise<void> {
  const failures: unknown[] = [];
  const note = (error: unknown): void => void failures.push(error);
  for (const user of await names(join(dataDir, 'users'))) {
    const workspaces = join(dataDir, 'users', user, 'workspaces');
    try {
      for (const workspace of await names(workspaces)) await pruneOne(join(workspaces, workspace), now, limits).catch(note);
    } catch (error) {
      note(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function pruneOne(workspace: string, now: number, { keepMs, bytes }: { keepMs: number; bytes: number }): Promise<void> {
  let folder: WorkspaceDirectory;
  try {
    // Tools may write here: where a link leads is none of our business (A21).
    folder = await WorkspaceDirectory.open(workspace, [UPLOADS]);
  } catch (error) {
    if (error instanceof PathRefusal) return;
    throw error;
  }
  await using opened = folder;
  const found = await Promise.all(
    (await names(opened.self)).map(async (name) => {
      const info = await unlessGone(lstat(opened.child(name)));
      return info ? [{ name, mtimeMs: info.mtimeMs, size: info.size }] : [];
    }),
  );
  let kept = 0;
  for (const { name, mtimeMs, size } of found.flat().sort((a, b) => b.mtimeMs - a.mtimeMs)) {
    kept += size;
    if (kept > bytes || now - mtimeMs > keepMs) await rm(opened.child(name), { force: true, recursive: true });
  }
}

async function names(directory: string): Promise<readonly string[]> {
  return (await unlessGone(readdir(directory))) ?? [];
}

/** Undefined where there is nothing any more: turns store and remove files meanwhile. */
async function unlessGone<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw error;
  }
}
