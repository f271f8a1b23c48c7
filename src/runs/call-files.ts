/** Files that calls of tools left in a workspace under their own names: long outputs, pages, pictures. */
import { readdir } from 'node:fs/promises';
import { outputEnding, pictureName, searchEnding } from '../core/call-key.ts';
import { isErrno } from '../lib/errno.ts';
import { removeTree, writeIn } from '../lib/remove-tree.ts';
import { PathRefusal, WorkspaceDirectory } from '../workspace/path.ts';
import { OUTPUTS } from '../workspace/stored-outputs.ts';

const PLACES = [
  { names: OUTPUTS, ending: outputEnding },
  { names: ['research'], ending: searchEnding },
  { names: ['screenshots'], ending: pictureName },
] as const;

/** Paths in the workspace, of files and of directories. `calls`: by `callKey`. Rejects as the disk does. */
export async function filesOfCalls(workspace: string, calls: readonly string[]): Promise<readonly string[]> {
  return await eachOf(workspace, calls, async () => undefined);
}

/** Resolves to how many of them there were. Rejects as the disk does. */
export async function eraseFilesOfCalls(workspace: string, calls: readonly string[]): Promise<number> {
  const gone = await eachOf(workspace, calls, removeTree);
  return gone.length;
}

async function eachOf(
  workspace: string,
  calls: readonly string[],
  act: (path: string) => Promise<void>,
): Promise<readonly string[]> {
  const found: string[] = [];
  if (calls.length === 0) return found;
  for (const { names, ending } of PLACES) {
    const endings = new Set(calls.map(ending));
    const length = ending('').length;
    try {
      await using directory = await WorkspaceDirectory.open(workspace, names);
      for (const name of await readdir(directory.self)) {
        if (!endings.has(name.slice(-length))) continue;
        await writeIn(directory, () => act(directory.child(name)));
        found.push([...names, name].join('/'));
      }
    } catch (error) {
      // There is none, or a link took its place: then nothing of it is the workspace's.
      if (!(error instanceof PathRefusal) && !isErrno(error, 'ENOENT', 'ENOTDIR')) throw error;
    }
  }
  return found;
}
