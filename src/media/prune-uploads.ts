// data directory -> workspaces/*/*/uploads -> files that are old, or too much
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree, writeIn } from '../lib/remove-tree.ts';
import { PathRefusal, WorkspaceDirectory } from '../workspace/path.ts';
import { OUTPUTS } from '../workspace/stored-outputs.ts';
import { UPLOADS } from './fetch-file.ts';

/** A file that was not asked about for so long is asked for again. */
export const KEEP_DAYS = 30;
export const KEEP_MS = KEEP_DAYS * 24 * 3_600_000;
/** Of one conversation; the oldest go first. A full disk would stop every channel. */
export const MOST_BYTES = 1024 ** 3;

interface Limits {
  readonly keepMs: number;
  readonly bytes: number;
}

/** A file that may stay. */
export interface KeptUpload {
  readonly workspace: string;
  readonly mtimeMs: number;
}

/**
 * Removes from these workspaces what people sent and is too old to be looked at again, and where there is too
 * much of it the oldest. Rejects with the first of the directories that could not be read, when the others
 * are done.
 */
export async function pruneUploads(
  workspaces: readonly string[],
  now: number,
  limits: Limits,
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  for (const workspace of workspaces) {
    signal.throwIfAborted();
    await pruneOne(workspace, now, limits).catch((error: unknown) => void failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

/** The same for every workspace below the data directory; resolves with what stays there. */
export async function pruneAllUploads(
  dataDir: string,
  now: number,
  limits: Limits,
  signal: AbortSignal,
): Promise<readonly KeptUpload[]> {
  const failures: unknown[] = [];
  const kept: KeptUpload[] = [];
  for (const user of await names(join(dataDir, 'workspaces'))) {
    const workspaces = join(dataDir, 'workspaces', user);
    try {
      for (const workspace of await names(workspaces)) {
        signal.throwIfAborted();
        await pruneOne(join(workspaces, workspace), now, limits).then(
          (left) => {
            for (const one of left) kept.push(one);
          },
          (error: unknown) => void failures.push(error),
        );
      }
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return kept;
}

/** What people sent, and what tools said that was too large to be shown. */
async function pruneOne(workspace: string, now: number, limits: Limits): Promise<readonly KeptUpload[]> {
  const uploads = await pruneFolder(workspace, [UPLOADS], now, limits);
  return [...uploads, ...(await pruneFolder(workspace, OUTPUTS, now, limits))];
}

async function pruneFolder(
  workspace: string,
  path: readonly string[],
  now: number,
  { keepMs, bytes }: Limits,
): Promise<readonly KeptUpload[]> {
  let folder: WorkspaceDirectory;
  try {
    // Tools may write here: where a link leads is none of our business (A21).
    folder = await WorkspaceDirectory.open(workspace, path);
  } catch (error) {
    if (error instanceof PathRefusal) return [];
    throw error;
  }
  await using opened = folder;
  const found = await Promise.all(
    (await names(opened.self)).map(async (name) => {
      const info = await unlessGone(lstat(opened.child(name)));
      return info ? [{ name, mtimeMs: info.mtimeMs, size: info.size }] : [];
    }),
  );
  const kept: KeptUpload[] = [];
  let total = 0;
  for (const { name, mtimeMs, size } of found.flat().sort((a, b) => b.mtimeMs - a.mtimeMs)) {
    total += size;
    if (total > bytes || now - mtimeMs > keepMs) await writeIn(opened, () => removeTree(opened.child(name)));
    else kept.push({ workspace, mtimeMs });
  }
  return kept;
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
