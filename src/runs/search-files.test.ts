import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';

const OTHER = 65_534;
const isRoot = process.getuid?.() === 0;

/** In a process of its own, as a user whom permissions bind. */
function found(directory: string): unknown {
  const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const program = `
    const { FileSearch } = await import(${module('./search-files.ts')});
    const { ByteSearch, encodedForms } = await import(${module('../lib/byte-search.ts')});
    const search = new FileSearch({ searches: [new ByteSearch(encodedForms('secret'))] });
    const files = await Array.fromAsync(search.in(${JSON.stringify(directory)}, () => undefined));
    process.stdout.write(JSON.stringify(files.map(({ path, kind }) => path + ' ' + kind).toSorted()));`;
  const user = isRoot ? { uid: OTHER, gid: OTHER } : {};
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { ...user, encoding: 'utf8' });
  return stderr === '' ? JSON.parse(stdout) : stderr;
}

test('what a program closed is told as not searched, and what is beside it is searched', async () => {
  await using dir = await tempDir();
  await mkdir(join(dir.path, 'notes'));
  await writeFile(join(dir.path, 'closed.txt'), 'secret');
  await writeFile(join(dir.path, 'open.txt'), 'secret');
  if (isRoot) for (const name of ['', 'notes', 'closed.txt']) await chown(join(dir.path, name), OTHER, OTHER);
  for (const name of ['notes', 'closed.txt']) await chmod(join(dir.path, name), 0);
  expect(found(dir.path)).toEqual(['closed.txt unread', 'notes unread', 'open.txt words']);
});
