import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { userWorkspaces } from '../../sessions/file-name.ts';
import { sessionHash } from '../core/ids.ts';
import { removeTree } from '../lib/remove-tree.ts';

/**
 * The directory of a session's files; made when it is not there. It is named by a digest of the session's
 * key, so that no two sessions share one (attack A37).
 */
export function sessionWorkspace(dataDir: string, session: string): string {
  const path = sessionWorkspacePath(dataDir, session);
  // Not through the thread pool, where it would queue behind file syncs. The look is far cheaper than
  // creating what is there.
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

const GONE = '.gone-';

/** Where it is, or would be. */
export function sessionWorkspacePath(dataDir: string, session: string): string {
  return join(userWorkspaces(dataDir, session), sessionHash(session));
}

/**
 * The session is gone, and its files with it. At once they are under no name that a session has: one that
 * begins under the same key finds none of them. Rejects with the system's error.
 */
export async function removeWorkspace(dataDir: string, session: string): Promise<void> {
  const path = sessionWorkspacePath(dataDir, session);
  if (statSync(path, { throwIfNoEntry: false })) renameSync(path, `${path}${GONE}${randomUUID()}`);
  // Also what an earlier call could not remove, or was killed at.
  const siblings = await readdir(dirname(path)).catch(() => []);
  for (const name of siblings) if (name.startsWith(`${basename(path)}${GONE}`)) await removeTree(join(dirname(path), name));
}
