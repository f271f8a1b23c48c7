import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { bmp, gif, jpeg, png } from '../testing/pictures.ts';
import { loadImage } from './load-image.ts';
import { MAX_IMAGE_BYTES } from './pictures.ts';

const PNG = png();
const signal = new AbortController().signal;

async function workspace() {
  const dir = await tempDir();
  await mkdir(join(dir.path, 'ws', 'uploads'), { recursive: true });
  const root = join(dir.path, 'ws');
  return {
    outside: join(dir.path, 'outside.png'),
    root,
    write: (path: string, bytes: Uint8Array | string) => writeFile(join(root, path), bytes),
    load: (path: string, until = signal) => loadImage(root, path, until),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

test('a picture is what its bytes say, whatever its name says', async () => {
  await using at = await workspace();
  await at.write('uploads/a.txt', PNG);
  await at.write('uploads/b.png', 'just text');
  expect(await at.load('uploads/a.txt')).toEqual({ mime: 'image/png', base64: PNG.toString('base64') });
  expect(await at.load('uploads/b.png')).toBeUndefined();
});

test('A21 nothing outside of the workspace is shown: no link, no way up, no absolute path, no pipe', async () => {
  await using at = await workspace();
  await writeFile(at.outside, PNG);
  await symlink(at.outside, join(at.root, 'uploads', 'link.png'));
  await symlink(join(at.root, '..'), join(at.root, 'up'));
  execFileSync('mkfifo', [join(at.root, 'uploads', 'pipe.png')]);
  for (const path of [
    'uploads/link.png',
    'up/outside.png',
    '../outside.png',
    at.outside,
    'uploads/pipe.png',
    'uploads',
    'gone.png',
    '',
  ]) {
    expect([path, await at.load(path)]).toEqual([path, undefined]);
  }
});

test('F39 a file above the limit is not read', async () => {
  await using at = await workspace();
  await at.write('large.png', Buffer.concat([PNG, Buffer.alloc(MAX_IMAGE_BYTES)]));
  expect(await at.load('large.png')).toBeUndefined();
});

test('F39 a bomb, a picture that is cut off, and one no model takes are not handed over, whatever put them there', async () => {
  await using at = await workspace();
  const files = {
    'bomb.png': png(50_000, 50_000),
    'bomb.jpg': jpeg(50_000, 50_000),
    'film.gif': gif(10, 10, { frames: 5_000 }),
    'half.png': png().subarray(0, -1),
    'head.png': png().subarray(0, 12),
    'other.png': bmp(),
    'empty.png': '',
  };
  for (const [name, bytes] of Object.entries(files)) {
    await at.write(name, bytes);
    expect([name, await at.load(name)]).toEqual([name, undefined]);
  }
});

test('an abort rejects with its reason', async () => {
  await using at = await workspace();
  await at.write('a.png', PNG);
  const reason = new Error('/stop');
  await expect(at.load('a.png', AbortSignal.abort(reason))).rejects.toBe(reason);
});
