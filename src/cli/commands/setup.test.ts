import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

test('without a terminal setup names the commands that need none', async () => {
  await using dir = await tempDir();
  expect(await new FakeCli(dir.path).run('setup')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/gatehouse init --defaults.*gatehouse auth set-key/),
  });
});

test('a config that is there is left as it is, and so is a directory in which nothing can be written', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = [];
  const file = await cli.write('.gatehouse/config.json', '{}');
  expect(await cli.run('setup')).toMatchObject({ code: 4, stderr: expect.stringContaining(`${file} is there already`) });
  const elsewhere = new FakeCli('/nowhere/at/all');
  elsewhere.endsInput = true;
  elsewhere.answers = [];
  expect(await elsewhere.run('setup', '--data-dir', dir.path)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/GH1202 \/nowhere\/at\/all cannot be written/),
  });
});

test('with every step left out a config of the terminal alone is written, and nothing is stored', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['', '', 'n'];
  const { code, stderr } = await cli.run('setup');
  expect([code, stderr]).toEqual([0, expect.stringContaining('→ gatehouse gateway')]);
  expect((await readdir(`${dir.path}/.gatehouse`)).toSorted()).toEqual(['.gitignore', 'config.json', 'config.schema.json']);
  expect(await cli.run('config', 'check')).toMatchObject({ code: 0 });
});

test('answers as flags are looked at before anything is called', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('two.txt', 'sk-one\nsk-two\n');
  await cli.write('one.txt', 'sk-one\n');
  expect((await cli.run('setup', '--key-file', 'two.txt')).stderr).toMatch(/two\.txt holds more than a secret/);
  expect((await cli.run('setup', '--key-file', 'one.txt', '--token-file', 'one.txt')).stderr).toMatch(
    /--token-file needs --owner/,
  );
});
