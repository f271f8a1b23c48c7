import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { profileText, sandboxExec } from './macos.ts';

const JAIL = {
  cwd: '/Users/ada/.gatehouse/users/x',
  network: false,
  readable: ['/Users/ada/books'],
  hidden: ['/Users/ada/.gatehouse'],
};

it('the profile for macOS refuses all but what is named in it', async () => {
  const golden = await readFile(join(import.meta.dirname, 'fixtures/macos.sb'), 'utf8');
  expect(profileText(JAIL)).toBe(golden);
  expect(profileText({ ...JAIL, network: true })).toBe(`${golden}(allow network*)\n(allow system-socket)\n`);
  expect(sandboxExec({ ...JAIL, argv: ['ls'] })).toEqual(['/usr/bin/sandbox-exec', '-p', golden, 'ls']);
});

it('a program that is not given its directory as HOME may write to one of its own', () => {
  const text = profileText({ ...JAIL, ownHome: '/private/tmp/gatehouse-home-x' });
  const rule = `(allow file-read* file-write* (subpath "${JAIL.cwd}") (subpath "/private/tmp/gatehouse-home-x"))`;
  expect(text.indexOf(rule)).toBeGreaterThan(text.indexOf('(deny file-read*'));
});

it('a program with a home may read that, in the hidden directory too', () => {
  const text = profileText({ ...JAIL, home: '/Users/ada/.gatehouse/plugin-copies/x' });
  const rule = '(allow file-read* (subpath "/Users/ada/.gatehouse/plugin-copies/x"))';
  expect(text.indexOf(rule)).toBeGreaterThan(text.indexOf('(deny file-read*'));
});

it.each(['/a"b', '/a(b', '/a)b', '/a\\b', '/a\nb', 'a', '/a\u007f'])('a directory called %j is refused', (cwd) => {
  expect(() => profileText({ ...JAIL, cwd })).toThrow('takes no path');
});
