/** Where outputs of tools lie that are too large to be shown whole: beside the files of the workspace. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { isErrno } from '../lib/errno.ts';
import type { WorkspaceDirectory } from './path.ts';

/** Below the workspace. */
export const OUTPUTS: readonly string[] = ['.gatehouse', 'outputs'];
/** Of one workspace; the oldest go first. */
const OUTPUT_LIMITS = { files: 50, bytes: 512 * 1024 ** 2 };

/** Whether a path of the workspace, given by its names, is a file of that directory. */
export function isStoredOutput(names: readonly string[]): boolean {
  return names.length === OUTPUTS.length + 1 && OUTPUTS.every((name, i) => names[i] === name);
}

/** Makes room for one more. */
export async function pruneOutputs(outputs: WorkspaceDirectory, limits = OUTPUT_LIMITS): Promise<void> {
  const found = await Promise.all((await readdir(outputs.self)).map((name) => factsOf(outputs, name)));
  let [files, bytes] = [1, 0];
  for (const { name, size } of found.flat().sort((a, b) => b.mtimeMs - a.mtimeMs)) {
    files += 1;
    bytes += size;
    if (files > limits.files || bytes > limits.bytes) await rm(outputs.child(name), { force: true, recursive: true });
  }
}

/** Empty for what is gone: several calls store at once. */
async function factsOf(outputs: WorkspaceDirectory, name: string) {
  try {
    const { size, mtimeMs } = await lstat(outputs.child(name));
    return [{ name, size, mtimeMs }];
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
