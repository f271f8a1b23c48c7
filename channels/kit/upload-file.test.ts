import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../../src/testing/fakes.ts';
import { unreadableFile, uploadName } from './upload-file.ts';

test('a file can be sent; a directory, and what is gone, cannot', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'note.txt');
  await writeFile(path, 'x');
  expect(await unreadableFile(path)).toBeUndefined();
  expect(await unreadableFile(dir.path)).toBe('the attachment is not a file');
  expect(await unreadableFile(join(dir.path, 'gone'))).toBe('the attachment is not there any more');
});

test('A23 a name can end no header and lead to no other folder', () => {
  expect(uploadName('../a";\r\nx: y\u0000.txt')).toBe('.._a_x: y_.txt');
  expect(uploadName('a;b/c', /\//g)).toBe('a;b_c');
  expect(uploadName(`${'n'.repeat(300)}.txt`)).toHaveLength(120);
  expect(uploadName('')).toBe('file');
});
