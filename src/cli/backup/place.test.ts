import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../../testing/fakes.ts';
import { written } from './place.ts';

test('a copy that is in its place is told as written, although the disk did not confirm its name', async () => {
  await using dir = await tempDir();
  await mkdir(join(dir.path, 'copies'));
  const path = join(dir.path, 'copies/today');
  const sync = async (directory: string) => {
    if (directory === join(dir.path, 'copies')) throw new Error('EIO: i/o error, fsync');
  };
  const copy = written(path, async (draft) => await writeFile(join(draft, 'a'), 'words'), sync);
  await expect(copy).rejects.toMatchObject({ code: 'GH1301', message: expect.stringMatching(/today is written, but/) });
  expect(await readdir(path)).toEqual(['a']);
});
