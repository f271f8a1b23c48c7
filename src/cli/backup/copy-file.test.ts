import { open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../../testing/fakes.ts';
import { copyFile } from './copy-file.ts';
import { ofSource, ofTarget } from './no-copy.ts';

test('a file that cannot be read to its end is left with the reason, and no part of it stays in the copy', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'file'), 'words');
  // Opened for writing alone: it tells its size, and refuses to be read.
  await using from = await open(join(dir.path, 'file'), 'a');
  const copy = copyFile(from, Buffer.from(join(dir.path, 'copy')), undefined);
  await expect(copy).rejects.toMatchObject({ name: 'NoCopy', reason: 'cannot be read: EBADF' });
  expect(await readdir(dir.path)).toEqual(['file']);
});

test('a failure of the source is a matter of one file; of the copy it is one where only a name or a size is refused', async () => {
  const failing = (code: string) => () => Promise.reject(Object.assign(new Error(`${code}: /a/path`), { code }));
  for (const code of ['EIO', 'EACCES', 'ENAMETOOLONG', 'ELOOP', 'ESTALE'])
    await expect(ofSource(failing(code))).rejects.toMatchObject({ reason: expect.not.stringContaining('/a/path') });
  await expect(ofSource(failing('ENOENT'))).rejects.toMatchObject({ name: 'NoCopy', reason: undefined });
  for (const code of ['ENAMETOOLONG', 'EILSEQ', 'EFBIG'])
    await expect(ofTarget(failing(code))).rejects.toMatchObject({ name: 'NoCopy', reason: expect.stringContaining('the copy') });
  for (const code of ['ENOSPC', 'EIO', 'EROFS', 'EACCES']) await expect(ofTarget(failing(code))).rejects.toMatchObject({ code });
});
