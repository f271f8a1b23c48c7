/** What root's commands left in a data directory of another user, who is the daemon's there. */
import { lchown, lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** For `test.skipIf`: only root can give a directory away. */
export const isNotRoot = process.getuid?.() !== 0;

/** Makes the directory where it is not there. It and all in it are now those of a user who is not there. */
export async function otherUsersDirectory(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const path of ['', ...(await pathsBelow(dir))]) await lchown(join(dir, path), 4_242, 4_242);
}

/** Paths below the directory that its owner may not have because they are root's. */
export async function filesOfRoot(dir: string): Promise<readonly string[]> {
  const owners = await Promise.all((await pathsBelow(dir)).map(async (path) => [path, (await lstat(join(dir, path))).uid]));
  return owners.flatMap(([path, uid]) => (uid === 0 ? [String(path)] : [])).sort();
}

/** Node's own walk follows links to directories. */
async function pathsBelow(dir: string, at = ''): Promise<readonly string[]> {
  const entries = await readdir(join(dir, at), { withFileTypes: true });
  const paths = entries.map(async (entry) => {
    const path = join(at, entry.name);
    return entry.isDirectory() ? [path, ...(await pathsBelow(dir, path))] : [path];
  });
  return (await Promise.all(paths)).flat();
}
