/** The list and the command against an npm of ours: what it is given, and what stays when it fails. */
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { mustBeInstalled } from '../../app/channel-life.ts';
import { lockClosure } from '../../lib/lock-closure.ts';
import { packageList } from '../../lib/package-list.ts';
import { tempDir } from '../../testing/fakes.ts';
import { missingPackages as missingTools } from '../../tools/installed.ts';
import type { CliDeps } from '../deps.ts';
import { runCli } from '../program.ts';
import { missingPackages } from './config.ts';

const TARBALL = Buffer.from('a tarball');
const LIST = {
  packages: {
    'node_modules/twilio': {
      version: '6.2.0',
      license: 'GPL-3.0',
      integrity: `sha512-${createHash('sha512').update(TARBALL).digest('base64')}`,
    },
  },
};

async function scene(npm: string) {
  const dir = await tempDir();
  for (const name of ['bin', 'root', 'tarballs']) await mkdir(join(dir.path, name));
  await writeFile(join(dir.path, 'root/package-lock.json'), JSON.stringify(LIST));
  const program = join(dir.path, 'bin/npm');
  await writeFile(program, `#!/bin/sh\ncp package-lock.json '${dir.path}/lock'\nenv > '${dir.path}/env'\n${npm}\n`);
  await chmod(program, 0o700);
  const run = async (...argv: string[]) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    let text = '';
    for (const stream of [stdout, stderr])
      stream.on('data', (chunk: Buffer) => {
        text += String(chunk);
      });
    const stdio = { stdin: Object.assign(new PassThrough(), { isTTY: false }), stdout, stderr } as unknown as CliDeps['stdio'];
    const env = { PATH: `${dir.path}/bin:/usr/bin:/bin`, HOME: dir.path, OPENAI_API_KEY: 'canary' };
    const packageRoot = join(dir.path, 'root');
    const deps = {
      stdio,
      env,
      cwd: dir.path,
      home: dir.path,
      version: '0',
      commandHere: 'gatehouse',
      packageRoot,
    } as unknown as CliDeps;
    const code = await runCli(['channels', 'add', ...argv, '--prefix', 'there'], deps);
    return { code, text };
  };
  const read = (name: string) => readFile(join(dir.path, name), 'utf8');
  return { dir: dir.path, run, read, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const WORKS = 'mkdir -p node_modules/twilio && echo "{}" > node_modules/twilio/package.json';

test('installs exactly what the list names, without a key in the environment of npm', async () => {
  await using at = await scene(WORKS);
  expect(await at.run('twilio', '--yes')).toMatchObject({ code: 0, text: expect.stringContaining('GATEHOUSE_PACKAGES=') });
  const lock = JSON.parse(await at.read('lock')) as typeof LIST;
  expect(lock.packages['node_modules/twilio']).toEqual(LIST.packages['node_modules/twilio']);
  expect(await at.read('env')).not.toContain('canary');
  expect(await readdir(join(at.dir, 'there'))).toEqual(['node_modules']);
});

test('a licence of the GPL is asked about, and a dry run changes nothing', async () => {
  await using at = await scene(WORKS);
  expect(await at.run('twilio', '--dry-run')).toMatchObject({
    code: 0,
    text: expect.stringContaining('twilio is under GPL-3.0'),
  });
  expect(await at.run('twilio')).toMatchObject({ code: 2, text: expect.stringContaining('--yes') });
  expect(await readdir(at.dir)).not.toContain('there');
});

test('a licence that leaves the choice of one without conditions is not asked about', async () => {
  const at = await scene('mkdir -p node_modules/twilio');
  const list = {
    packages: { 'node_modules/twilio': { ...LIST.packages['node_modules/twilio'], license: '(MIT OR GPL-3.0-or-later)' } },
  };
  await writeFile(join(at.dir, 'root/package-lock.json'), JSON.stringify(list));
  expect((await at.run('twilio')).code).toBe(0);
});

test('a tarball with another digest is refused by name, and one that fits is handed to npm', async () => {
  await using at = await scene(WORKS);
  const file = join(at.dir, 'tarballs/twilio-6.2.0.tgz');
  await writeFile(file, 'another');
  const refused = await at.run('twilio', '--yes', '--offline', 'tarballs');
  expect(refused).toMatchObject({ code: 1, text: expect.stringContaining(`${file} is not the package`) });
  await writeFile(file, TARBALL);
  expect((await at.run('twilio', '--yes', '--offline', 'tarballs')).code).toBe(0);
  expect(await at.read('lock')).toContain('"resolved":"file:twilio-6.2.0.tgz"');
});

test('when npm fails, what was there stays', async () => {
  await using at = await scene('exit 7');
  await mkdir(join(at.dir, 'there/node_modules/kept'), { recursive: true });
  expect(await at.run('twilio', '--yes')).toMatchObject({ code: 1, text: expect.stringContaining('npm ended with status 7') });
  expect(await readdir(join(at.dir, 'there/node_modules'))).toEqual(['kept']);
});

test('a prefix that cannot be written ends with what is in the way and what to do', async () => {
  await using at = await scene(WORKS);
  const why = /✗ GH1106 .*there cannot be written: .*\n.*`--prefix DIR`; what was installed before is as it was/;
  await symlink('/proc/nowhere', join(at.dir, 'there'));
  expect(await at.run('twilio', '--yes')).toMatchObject({ code: 1, text: expect.stringMatching(why) });
  await using other = await scene(WORKS);
  await writeFile(join(other.dir, 'there'), '');
  const text = expect.stringMatching(/there cannot be written: a part of the path is a file\n/);
  expect(await other.run('twilio', '--yes')).toMatchObject({ code: 1, text });
});

test('a directory of tarballs that is not there is named', async () => {
  await using at = await scene(WORKS);
  const text = expect.stringMatching(/✗ GH1106 .*nowhere cannot be read: ENOENT.*\n.*`--offline`/);
  expect(await at.run('twilio', '--yes', '--offline', 'nowhere')).toMatchObject({ code: 1, text });
});

test('what is missing is named with the command that installs it', () => {
  const none = () => false;
  expect(() => mustBeInstalled('whatsapp', none)).toThrow(
    expect.objectContaining({ code: 'GH1510', hint: 'run `gatehouse channels add whatsapp`, then start again' }),
  );
  mustBeInstalled('telegram', none);
  const config = { gateway: { channels: [{ type: 'irc' }, { type: 'discord' }] } } as Parameters<typeof missingPackages>[0];
  expect(missingPackages(config, none)).toMatchObject([{ path: ['gateway', 'channels', 1, 'type'], severity: 'warning' }]);
  expect(missingTools(['linkedom', 'docx'], none)).toBe('gatehouse tools add documents && gatehouse tools add web');
});

test('the GPL is in what WhatsApp needs, and each package of the list has a digest', () => {
  const entries = lockClosure(packageList(), ['@whiskeysockets/baileys']);
  expect(entries['node_modules/libsignal']?.license).toBe('GPL-3.0');
  for (const entry of Object.values(entries)) expect(entry.integrity).toMatch(/^sha512-/);
});
