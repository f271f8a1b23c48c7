/** What root's commands left in a data directory of another user, who is the daemon's there. */
import { chown, lstat, mkdir, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** For `test.skipIf`: only root can give a directory away. */
export const isNotRoot = process.getuid?.() !== 0;

/** Makes the directory, as that of a user who is not there. */
export async function otherUsersDirectory(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chown(dir, 4_242, 4_242);
}

/** Paths below the directory that its owner may not have because they are root's. */
export async function filesOfRoot(dir: string): Promise<readonly string[]> {
  const names = await readdir(dir, { recursive: true });
  const owners = await Promise.all(names.map(async (name) => [name, (await lstat(join(dir, name))).uid] as const));
  return owners.flatMap(([name, uid]) => (uid === 0 ? [relative(dir, join(dir, name))] : [])).sort();
}
