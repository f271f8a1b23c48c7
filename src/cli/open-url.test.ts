import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir, until } from '../testing/fakes.ts';
import { openUrl } from './open-url.ts';

const URL_WITH_SHELL_WORDS = 'https://example.com/?a=1&b=$(touch x);c';

test('the desktop gets the address as one argument, without a shell', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'opened');
  const program = join(dir.path, 'xdg-open');
  await writeFile(program, `#!/bin/sh\nprintf '%s|' "$@" > '${file}.new' && mv '${file}.new' '${file}'\n`);
  await chmod(program, 0o700);
  openUrl(URL_WITH_SHELL_WORDS, { DISPLAY: ':0', PATH: `${dir.path}:/usr/bin:/bin` }, 'linux');
  const opened = await until('the program ran', () => readFile(file, 'utf8').catch(() => undefined));
  expect(opened).toBe(`${URL_WITH_SHELL_WORDS}|`);
});

test('without a desktop nothing is started', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'opened');
  const program = join(dir.path, 'xdg-open');
  await writeFile(program, `#!/bin/sh\n: > '${file}'\n`);
  await chmod(program, 0o700);
  openUrl('https://example.com', { PATH: dir.path, DISPLAY: '' }, 'linux');
  await new Promise((resolve) => setTimeout(resolve, 300));
  await expect(stat(file)).rejects.toThrow('ENOENT');
  // The same program is started where there is a desktop.
  openUrl('https://example.com', { PATH: dir.path, WAYLAND_DISPLAY: 'w' }, 'linux');
  await until('the program ran', () => stat(file).catch(() => undefined));
});

test('a program that is missing is no error', async () => {
  await using dir = await tempDir();
  openUrl('https://example.com', { PATH: dir.path, WAYLAND_DISPLAY: 'w' }, 'linux');
  openUrl('https://example.com', { PATH: dir.path }, 'darwin');
  // An error that is not caught comes within this time, and fails the file.
  await new Promise((resolve) => setTimeout(resolve, 50));
});
