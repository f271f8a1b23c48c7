import { mkdir, readdir, readFile, realpath, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { fileCalls } from '../testing/file-calls.ts';
import { writeFileAtomic } from './atomic-file.ts';

test('the file has exactly the content and mode asked for, whatever was there', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'f');
  await writeFileAtomic(path, 'a long first text', { mode: 0o644 });
  await writeFileAtomic(path, new Uint8Array([0x62]), { mode: 0o600 });
  expect(await readFile(path, 'utf8')).toBe('b');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dir.path)).toEqual(['f']);
});

test('a symbolic link is replaced, and what it pointed to stays as it was', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'target'), 'old');
  await symlink('target', join(dir.path, 'link'));
  await writeFileAtomic(join(dir.path, 'link'), 'new', { mode: 0o600 });
  expect(await readFile(join(dir.path, 'target'), 'utf8')).toBe('old');
  expect(await readFile(join(dir.path, 'link'), 'utf8')).toBe('new');
});

test('a failure leaves the old content and no temporary file', async () => {
  await using dir = await tempDir();
  await mkdir(join(dir.path, 'd'));
  await writeFile(join(dir.path, 'd', 'kept'), 'old');
  await expect(writeFileAtomic(join(dir.path, 'd'), 'x', { mode: 0o600 })).rejects.toMatchObject({ code: 'EISDIR' });
  await expect(writeFileAtomic(join(dir.path, 'no', 'f'), 'x', { mode: 0o600 })).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await readdir(dir.path)).toEqual(['d']);
  expect(await readFile(join(dir.path, 'd', 'kept'), 'utf8')).toBe('old');
});

test('readers see the old or the new content while a file is replaced again and again', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'f');
  const texts = ['a'.repeat(50_000), 'b'.repeat(70_000)];
  await writeFileAtomic(path, texts[0] ?? '', { mode: 0o600 });
  let writing = true;
  const writer = (async () => {
    for (let n = 0; n < 60; n += 1) await writeFileAtomic(path, texts[n % 2] ?? '', { mode: 0o600 });
    writing = false;
  })();
  while (writing) expect(texts).toContain(await readFile(path, 'utf8'));
  await writer;
});

test('F12 the new bytes are on disk before they get the name, and the name before it resolves', async (context) => {
  await using dir = await tempDir();
  const at = await realpath(dir.path);
  const path = join(at, 'f');
  const calls = await fileCalls(
    context,
    at,
    `const { writeFileAtomic } = await import('${new URL('./atomic-file.ts', import.meta.url).href}');
     const { writeSync } = await import('node:fs');
     await writeFileAtomic(${JSON.stringify(path)}, 'words', { mode: 0o600 });
     writeSync(1, 'DONE it\\n');`,
  );
  const own = calls.filter((call) => call.startsWith('DONE') || call.includes(` ${at}`));
  const temporary = /^write (.*)$/.exec(own[0] ?? '')?.[1];
  expect(own).toEqual([`write ${temporary}`, `sync ${temporary}`, `rename ${path}`, `sync ${at}`, 'DONE it']);
});
