import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../lib/errno.ts';

/** Paths below a directory, of files only. */
export async function filesBelow(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/**
 * The files below a directory that hold one of these texts in their bytes or their path, as `path: text`.
 * One that a running daemon takes away meanwhile holds nothing.
 */
export async function filesHolding(dir: string, texts: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of await filesBelow(dir)) {
    const bytes = await readFile(path).catch((error: unknown) => {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (!bytes) continue;
    for (const text of texts) if (bytes.includes(text) || path.includes(text)) found.push(`${path}: ${text}`);
  }
  return found;
}
