// data directory -> users/*/workspaces/*/uploads -> files that are old, or too much
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PathRefusal, WorkspaceDirectory } from '../tools/workspace-path.ts';
import { UPLOADS } from './fetch-file.ts';

/** A file that nobody asked about for so long is asked for again. */
const KEEP_MS = 30 * 24 * 3_600_000;
/** Of one conversation; the oldest go first. A full disk would stop every channel. */
const MOST_BYTES = 1024 ** 3;

/**
 * Removes what people sent and nobody will look at again, and in a conversation with too much of it the oldest. Called by housekeeping.
 * Rejects when a directory cannot be read; the next run goes on where it stopped.
 */
export async function pruneUploads(dataDir: string, now: number, limits = { keepMs: KEEP_MS, bytes: MOST_BYTES }): Promise<void> {
  for (const user of await names(join(dataDir, 'users'))) {
    const workspaces = join(dataDir, 'users', user, 'workspaces');
    for (const workspace of await names(workspaces)) await pruneOne(join(workspaces, workspace), now, limits);
  }
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
  const files = await Promise.all(
    (await names(opened.self)).map(async (name) => {
      const { mtimeMs, size } = await lstat(opened.child(name));
      return { name, mtimeMs, size };
    }),
  );
  let kept = 0;
  for (const { name, mtimeMs, size } of files.sort((a, b) => b.mtimeMs - a.mtimeMs)) {
    kept += size;
    if (kept > bytes || now - mtimeMs > keepMs) await rm(opened.child(name), { force: true, recursive: true });
  }
}

async function names(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return [];
    throw error;
  }
}
