import { lstatSync, renameSync, symlinkSync } from 'node:fs';
import { link, lstat, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { filesOfRoot, isNotRoot, otherUsersDirectory } from '../testing/files-of-root.ts';
import { giveToOwner } from './give-to-owner.ts';

test.skipIf(isNotRoot)(
  'what root made below a directory is given to its owner, with the way there, and nothing beside it',
  async () => {
    await using dir = await tempDir();
    await otherUsersDirectory(dir.path);
    for (const path of ['a/b/c', 'a/beside']) await mkdir(join(dir.path, path), { recursive: true });
    await writeFile(join(dir.path, 'a/b/c/file'), '');
    await giveToOwner(dir.path, join(dir.path, 'a/b'));
    expect(await filesOfRoot(dir.path)).toEqual(['a/beside']);
    const { uid, gid } = await lstat(join(dir.path, 'a/b/c/file'));
    expect([uid, gid]).toEqual([4_242, 4_242]);
  },
);

test.skipIf(isNotRoot)(
  'no link is followed, and a file with a second name stays root’s: that user may have put them there',
  async () => {
    await using dir = await tempDir();
    await using outside = await tempDir();
    await otherUsersDirectory(dir.path);
    await mkdir(join(outside.path, 'below'));
    await writeFile(join(outside.path, 'file'), '');
    await symlink(outside.path, join(dir.path, 'link'));
    await mkdir(join(dir.path, 'made'));
    await symlink(outside.path, join(dir.path, 'made/link'));
    await link(join(outside.path, 'file'), join(dir.path, 'made/second-name'));
    for (const path of ['link', 'link/below', 'made']) await giveToOwner(dir.path, join(dir.path, path));
    expect(await filesOfRoot(outside.path)).toEqual(['below', 'file']);
  },
);

test.skipIf(isNotRoot)('a directory that becomes a link while it is gone through leads nowhere', async () => {
  await using dir = await tempDir();
  await using outside = await tempDir();
  const [own, aside] = [join(dir.path, 'own'), join(dir.path, 'aside')];
  await otherUsersDirectory(dir.path);
  await mkdir(own);
  const names = Array.from({ length: 50 }, (_, n) => `f${n}`).toSorted();
  for (const name of names) for (const at of [own, outside.path]) await writeFile(join(at, name), '');
  const given = giveToOwner(dir.path, own);
  // What is in it comes after it.
  while (lstatSync(own).uid === 0) await setImmediate();
  renameSync(own, aside);
  symlinkSync(outside.path, own);
  expect(await filesOfRoot(aside)).not.toEqual([]);
  await given;
  expect(await filesOfRoot(outside.path)).toEqual(names);
  expect(await filesOfRoot(aside)).toEqual([]);
});

test.skipIf(isNotRoot)('a directory that is root’s, or is not there, gives nothing away', async () => {
  await using dir = await tempDir();
  await otherUsersDirectory(join(dir.path, 'own'));
  await giveToOwner(dir.path, join(dir.path, 'own'));
  expect((await lstat(join(dir.path, 'own'))).uid).toBe(4_242);
  await giveToOwner(join(dir.path, 'absent'), join(dir.path, 'absent/file'));
});
