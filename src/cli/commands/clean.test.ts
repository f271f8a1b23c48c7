import { readdir, rm, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockDataDir } from '../../journal/lock.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

async function cliWithData() {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  for (const name of ['journal.db', 'auth.json', 'daemon.json.new-7', 'journal.db.v4.bak', 'tool_config.json'])
    await cli.write(`data/${name}`, '12345');
  await cli.write('data/users/ada/sessions/default.jsonl', 'x'.repeat(2_000));
  await cli.write('data/chat/journal.db', 'x');
  const old = new Date(cli.clock.now() - 2 * 3_600_000);
  await utimes(join(cli.dataDir, 'daemon.json.new-7'), old, old);
  const left = async () => (await readdir(cli.dataDir)).filter((name) => !name.startsWith('lock')).toSorted();
  return { cli, left, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const ALL = ['auth.json', 'chat', 'daemon.json.new-7', 'journal.db', 'journal.db.v4.bak', 'tool_config.json', 'users'];

test('clean removes cut-off writes and copies of before an upgrade, and says what it freed', async () => {
  await using at = await cliWithData();
  const dry = await at.cli.run('clean', '--dry-run');
  expect(dry.stdout).toMatch(/daemon\.json\.new-7[\s\S]*journal\.db\.v4\.bak[\s\S]*would free 10 B; nothing was removed/);
  expect(await at.left()).toEqual(ALL);
  const { code, stdout } = await at.cli.run('clean', '--yes', '--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { dryRun: false, bytes: 10, removed: [{ bytes: 5 }, { bytes: 5 }] }]);
  expect(await at.left()).toEqual(['auth.json', 'chat', 'journal.db', 'tool_config.json', 'users']);
  expect((await at.cli.run('clean')).stdout).toContain('there is nothing to remove');
});

test('clean --all leaves what would have to be typed again', async () => {
  await using at = await cliWithData();
  const { code, stdout } = await at.cli.run('clean', '--all', '--yes');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/users +2 kB[\s\S]*freed \d kB in 5 places/)]);
  expect(await at.left()).toEqual(['auth.json', 'tool_config.json']);
});

test('clean --all removes conversations that lie where an earlier version kept them', async () => {
  await using at = await cliWithData();
  await at.cli.write('data/sessions/ada.jsonl', 'x');
  expect((await at.cli.run('clean', '--all', '--yes')).code).toBe(0);
  expect(await at.left()).toEqual(['auth.json', 'tool_config.json']);
});

test('clean asks before it removes, and removes nothing without a yes', async () => {
  await using at = await cliWithData();
  expect(await at.cli.run('clean', '--all')).toMatchObject({ code: 4, stderr: expect.stringContaining('--yes') });
  at.cli.answers = ['n'];
  expect(await at.cli.run('clean', '--all')).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was deleted') });
  expect(await at.left()).toEqual(ALL);
  at.cli.answers = ['y'];
  expect(await at.cli.run('clean')).toMatchObject({ code: 0 });
});

test('clean touches nothing in a directory that is none of ours, and leaves what a link leads to', async () => {
  await using at = await cliWithData();
  await at.cli.write('own/users/me/notes.txt', 'x');
  await at.cli.write('own/mine.new-1', 'x');
  const own = join(at.cli.dir, 'own');
  expect(await at.cli.run('clean', '--all', '--yes', '--data-dir', own)).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/GH1005 .*own holds no journal, lock or login: it is no data directory\n.*--data-dir/),
  });
  expect((await readdir(own)).toSorted()).toEqual(['mine.new-1', 'users']);

  await rm(join(at.cli.dataDir, 'users'), { recursive: true });
  await symlink(own, join(at.cli.dataDir, 'users'));
  await at.cli.write('data/history', 'a line');
  const { stderr } = await at.cli.run('clean', '--all', '--yes');
  expect(stderr).toContain(`users was a link; what it led to stays: ${own}`);
  expect([await at.left(), (await readdir(own)).length]).toEqual([['auth.json', 'tool_config.json'], 2]);
});

test('clean leaves everything as it is while a daemon runs, and where there is no data', async () => {
  await using at = await cliWithData();
  await using lock = await lockDataDir(at.cli.dataDir, at.cli.clock);
  expect(await at.cli.run('clean', '--all', '--yes')).toMatchObject({ stderr: expect.stringContaining('GH1201') });
  expect(await at.cli.run('clean', '--all', '--dry-run')).toMatchObject({ code: 0 });
  expect(await at.left()).toEqual(ALL);
  await lock[Symbol.asyncDispose]();
  expect((await at.cli.run('clean', '--data-dir', join(at.cli.dir, 'nowhere'))).stdout).toContain('nothing to remove');
});

test('clean writes nothing through a link, and a file is no data directory', async () => {
  await using at = await cliWithData();
  const elsewhere = join(at.cli.dir, 'elsewhere');
  await at.cli.write('elsewhere/kept.txt', 'x');
  await rm(join(at.cli.dataDir, 'chat'), { recursive: true });
  await symlink(elsewhere, join(at.cli.dataDir, 'chat'));
  expect(await at.cli.run('clean', '--all', '--yes')).toMatchObject({ code: 0 });
  expect(await readdir(elsewhere)).toEqual(['kept.txt']);
  const file = await at.cli.run('clean', '--dry-run', '--data-dir', join(elsewhere, 'kept.txt'));
  expect(file.stderr).toMatch(/GH1202 .*kept\.txt is no directory/);
  expect(JSON.parse((await at.cli.run('clean', '--dry-run', '--json')).stdout)).toMatchObject({ dryRun: true, would: [] });
});
