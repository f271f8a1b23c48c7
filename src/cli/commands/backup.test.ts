import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, open, readdir, readFile, readlink, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { copyTree } from '../backup/copy-tree.ts';

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
  expect([code, stdout]).toEqual([0, expect.stringMatching(/✓ \S+\/copies\/monday: 5 files, \d+ B/)]);
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
  await symlink('/etc/passwd', join(at.cli.dataDir, 'users/link'));
  const { code, stdout } = await at.cli.run('backup', 'copies/monday', '--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    1,
    {
      ...{ path: at.target, files: 6, bytes: expect.any(Number), config: join(at.cli.dir, 'elsewhere.json') },
      error: { code: 'GH1202', message: expect.stringMatching(/not in the copy: users\/(link|pipe)/) },
      left: expect.arrayContaining(['users/pipe (no file)', 'users/link (a link to /etc/passwd)']),
    },
  ]);
});

test('backup keeps links within, permissions and times, and follows a link that puts state on another disk', async () => {
  await using at = await cliWithData();
  const sessions = join(at.cli.dataDir, 'users/ada/sessions');
  await symlink('default.jsonl', join(sessions, 'newest'));
  await chmod(join(sessions, 'default.jsonl'), 0o640);
  await utimes(join(sessions, 'default.jsonl'), 1_000_000, 1_000_000);
  await at.cli.write('other/files/a.txt', 'on another disk');
  await symlink(join(at.cli.dir, 'other/files'), join(at.cli.dataDir, 'workspaces'));
  expect(await at.cli.run('backup', 'copies/monday')).toMatchObject({ code: 0 });
  const copied = join(at.target, 'users/ada/sessions');
  expect(await readlink(join(copied, 'newest'))).toBe('default.jsonl');
  const { mode, mtimeMs } = await lstat(join(copied, 'default.jsonl'));
  expect([mode & 0o777, mtimeMs]).toEqual([0o640, 1_000_000_000]);
  expect(await readFile(join(at.target, 'workspaces/a.txt'), 'utf8')).toBe('on another disk');
});

test("a channel's own database is whole in the copy, although it is written to", async () => {
  await using at = await cliWithData();
  await at.cli.write('data/channels/phone/keep', '');
  using login = new DatabaseSync(join(at.cli.dataDir, 'channels/phone/login.db'));
  login.exec('PRAGMA journal_mode = WAL; CREATE TABLE key (value); INSERT INTO key VALUES (7)');
  expect(await at.cli.run('backup', 'copies/monday')).toMatchObject({ code: 0 });
  const there = join(at.target, 'channels/phone');
  expect((await readdir(there)).toSorted()).toEqual(['keep', 'login.db']);
  using copy = new DatabaseSync(join(there, 'login.db'));
  expect(copy.prepare('SELECT value FROM key').all()).toEqual([{ value: 7 }]);
});

test('an archive is copied after the file whose lines move into it', async () => {
  await using at = await cliWithData();
  const from = join(at.cli.dataDir, 'users/ada/sessions');
  for (const name of ['default.archive.jsonl', 'a.quarantine.jsonl', 'z.jsonl'])
    await at.cli.write(`data/users/ada/sessions/${name}`, '');
  const asked: string[] = [];
  const takes = (path: string): boolean => asked.push(path) > 0;
  await copyTree({ from, to: at.target, takes, database: () => undefined });
  expect(asked.slice(0, 2).toSorted()).toEqual(['default.jsonl', 'z.jsonl']);
  expect(asked).toHaveLength(4);
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
  await symlink(at.cli.dataDir, join(at.cli.dir, 'link'));
  expect(await at.cli.run('backup', 'link/copy')).toMatchObject({ stderr: expect.stringMatching(/GH1005 .*data directory/) });
  const byLink = ['--data-dir', join(at.cli.dir, 'link')];
  expect(await at.cli.run('backup', 'data/copy', ...byLink)).toMatchObject({ stderr: expect.stringMatching(/GH1005 .*data/) });
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

test('backup does not copy into state on another disk that a link leads to', async () => {
  await using at = await cliWithData();
  await mkdir(join(at.cli.dir, 'other/team'), { recursive: true });
  await symlink(join(at.cli.dir, 'other'), join(at.cli.dataDir, 'workspaces'));
  for (const target of ['other/copy', 'other/team/copy', 'data/workspaces/copy'])
    expect(await at.cli.run('backup', target)).toMatchObject({ code: 4, stderr: expect.stringMatching(/GH1005 .*workspaces/) });
  expect(await readdir(join(at.cli.dir, 'other'))).toEqual(['team']);
});

test("a channel's database that is none, or is damaged, is named, and the rest is copied", async () => {
  await using at = await cliWithData();
  await at.cli.write('data/channels/phone/text.db', 'this is no database, however long it is '.repeat(40));
  await at.cli.write('data/channels/phone/empty.db', '');
  const damaged = join(at.cli.dataDir, 'channels/phone/damaged.db');
  {
    using made = new DatabaseSync(damaged);
    made.exec('CREATE TABLE key (value)');
    for (let n = 0; n < 100; n += 1) made.exec(`INSERT INTO key VALUES ('${'x'.repeat(400)}')`);
  }
  await using file = await open(damaged, 'r+');
  await file.write(Buffer.alloc(4_096, 0xff), 0, 4_096, 3 * 4_096);
  const { code, stdout } = await at.cli.run('backup', 'copies/monday', '--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    1,
    {
      left: [
        expect.stringMatching(/^channels\/phone\/damaged.db \(is damaged: /),
        'channels/phone/text.db (file is not a database)',
      ],
    },
  ]);
  expect((await readdir(join(at.target, 'channels/phone'))).toSorted()).toEqual(['empty.db']);
});

test('backup copies files whose names only resemble those of a process, and tells a damaged or long name in one line', async () => {
  await using at = await cliWithData();
  for (const name of ['notes.partial', 'my.partial/a', 'mcp.something', 'lock.db.txt', 'journal.db.upgrade-notes', 'words.new-7'])
    await at.cli.write(`data/${name}`, 'words');
  for (const name of [
    'journal.db.upgrade',
    'journal.db.upgrade-lock',
    'journal.db.v6.bak.partial',
    'lock.db-journal',
    'lock.json',
  ])
    await at.cli.write(`data/${name}`, 'not this');
  const long = `users/${'d'.repeat(200)}/${'e'.repeat(200)}`;
  await mkdir(join(at.cli.dataDir, long), { recursive: true });
  execFileSync('mkfifo', [join(at.cli.dataDir, long, 'pipe\u001b[31m')]);
  const { code, stdout, stderr } = await at.cli.run('backup', 'copies/new\nline\u001b[2J');
  expect([code, stdout]).toEqual([1, expect.stringMatching(/copies\/new\\nline\\u001b\[2J: 11 files, .*\n$/)]);
  expect(stderr.split('\n').filter((line) => line.includes('not in the copy'))).toEqual([
    expect.stringMatching(/^✗ GH1202 not in the copy: users\/d+…e+\/pipe\\u001b\[31m \(no file\)$/),
  ]);
  expect(Math.max(...stderr.split('\n').map((line) => line.length))).toBeLessThan(250);
  expect((await readdir(join(at.cli.dir, 'copies/new\nline\u001b[2J'))).toSorted()).toEqual([
    ...['auth.json', 'chat', 'journal.db', 'journal.db.upgrade-notes', 'lock.db.txt', 'mcp.something', 'my.partial'],
    ...['notes.partial', 'users', 'words.new-7'],
  ]);
});

test('backup names as many as can be read of what it left, and counts the others', async () => {
  await using at = await cliWithData();
  for (let n = 0; n < 30; n += 1) await symlink('/etc/passwd', join(at.cli.dataDir, `users/link-${n}`));
  const { stderr } = await at.cli.run('backup', 'copies/monday');
  expect(stderr).toMatch(/not in the copy: users\/link-0 .* and 10 more/);
});

test('backup takes a link that leads nowhere for something, and names what a killed one left', async () => {
  await using at = await cliWithData();
  await mkdir(join(at.cli.dir, 'copies'));
  await symlink('nowhere', at.target);
  expect(await at.cli.run('backup', 'copies/monday')).toMatchObject({ code: 4, stderr: expect.stringMatching(/GH1005 .*there/) });
  for (const name of ['.sunday.partial-a1B2c3/journal.db.partial', '.other.partial-a1B2c3/file', '.sunday.partial-/journal.db'])
    await at.cli.write(`copies/${name}`, '');
  const left = join(at.cli.dir, 'copies/.sunday.partial-a1B2c3');
  const { code, stderr } = await at.cli.run('backup', 'copies/tuesday');
  expect([code, stderr.match(/.*partial-.*/g)]).toEqual([0, [expect.stringContaining(`rm -r ${left}`)]]);
  const { stdout } = await at.cli.run('backup', 'copies/wednesday', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, unfinished: [left] });
});
