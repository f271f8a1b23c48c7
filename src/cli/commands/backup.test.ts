import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

async function cliWithData() {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.haveJournal();
  await cli.write('data/auth.json', '{}');
  await cli.write('data/users/ada/sessions/default.jsonl', 'a line\n');
  for (const name of ['journal.db-wal', 'lock.db', 'daemon.json', 'journal.db.v6.bak', 'auth.json.new-7', 'chat/journal.db-shm'])
    await cli.write(`data/${name}`, 'not this');
  await cli.write('data/chat/journal.db', '');
  await cli.write('data/chat/history', 'what was typed');
  return { cli, dir, target: join(cli.dir, 'copies/monday'), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test('backup copies the journals and every file but those of a process, and says what is in it', async () => {
  await using at = await cliWithData();
  const { code, stdout, stderr } = await at.cli.run('backup', 'copies/monday');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/✓ \S+\/copies\/monday: 4 files, \d+ B/)]);
  expect(stderr).toMatch(/copying \S+journal\.db[\s\S]*copying files[\s\S]*keys and tokens/);
  const names = (await readdir(at.target, { recursive: true })).toSorted();
  expect(names).toEqual([
    ...['auth.json', 'chat', 'chat/history', 'chat/journal.db', 'journal.db', 'users', 'users/ada', 'users/ada/sessions'],
    'users/ada/sessions/default.jsonl',
  ]);
  expect(await readFile(join(at.target, 'journal.db'), 'utf8')).toBe('as it was');
  expect((await lstat(at.target)).mode & 0o777).toBe(0o700);
  expect(await readdir(join(at.cli.dir, 'copies'))).toEqual(['monday']);
});

test('backup --json counts what it copied, and names what it could not and a config that lies elsewhere', async () => {
  await using at = await cliWithData();
  await at.cli.write('data/config-path', join(at.cli.dir, 'elsewhere.json'));
  execFileSync('mkfifo', [join(at.cli.dataDir, 'users/pipe')]);
  const { code, stdout } = await at.cli.run('backup', 'copies/monday', '--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { path: at.target, files: 5, bytes: expect.any(Number), left: ['users/pipe'], config: join(at.cli.dir, 'elsewhere.json') },
  ]);
});

test('backup follows no link and keeps the permissions of files', async () => {
  await using at = await cliWithData();
  await symlink('/etc/passwd', join(at.cli.dataDir, 'users/link'));
  await chmod(join(at.cli.dataDir, 'auth.json'), 0o600);
  expect(await at.cli.run('backup', 'copies/monday')).toMatchObject({ code: 0 });
  expect(await readlink(join(at.target, 'users/link'))).toBe('/etc/passwd');
  expect((await lstat(join(at.target, 'auth.json'))).mode & 0o777).toBe(0o600);
});

test('backup replaces nothing, does not copy into what it copies, and needs something to copy', async () => {
  await using at = await cliWithData();
  await mkdir(at.target, { recursive: true });
  expect(await at.cli.run('backup', 'copies/monday')).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/GH1005 .*is there/),
  });
  expect(await at.cli.run('backup', 'data/copy')).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/GH1005 .*data directory/),
  });
  const none = ['--data-dir', join(at.cli.dir, 'nowhere')];
  expect(await at.cli.run('backup', 'copies/other', ...none)).toMatchObject({
    stderr: expect.stringMatching(/GH1003 .*no journal/),
  });
  expect(await readdir(join(at.cli.dir, 'copies'))).toEqual(['monday']);
});

test('a backup that cannot be written leaves nothing behind, and says why', async () => {
  await using at = await cliWithData();
  await at.cli.write('file', 'no directory');
  expect(await at.cli.run('backup', 'file/monday')).toMatchObject({
    stderr: expect.stringMatching(/GH1301 no backup was written to .*/),
  });
  at.cli.failure = new Error('the disk is full');
  expect(await at.cli.run('backup', 'copies/monday')).toMatchObject({
    stderr: expect.stringMatching(/GH1301 .*the disk is full\n.*room/),
  });
  expect(await readdir(join(at.cli.dir, 'copies'))).toEqual([]);
});
