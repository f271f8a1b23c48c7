import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

const FILES = ['.gitignore', 'config.json', 'config.schema.json'];

async function written(dir: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(dir, '.gatehouse', 'config.json'), 'utf8')) as Record<string, unknown>;
}

test('writes a config that loads, the schema it names and a .gitignore, and leaves nothing else behind', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { code, stdout, stderr } = await cli.run('init', '--defaults');
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr.trimEnd().split('\n').at(-1)).toBe('→ gatehouse gateway');
  expect((await readdir(join(dir.path, '.gatehouse'))).sort()).toEqual(FILES);
  expect(await written(dir.path)).toEqual({
    $schema: './config.schema.json',
    version: 1,
    gateway: { channels: [{ type: 'cli' }] },
  });
  expect(JSON.parse(await readFile(join(dir.path, '.gatehouse', 'config.schema.json'), 'utf8'))).toHaveProperty('properties');
  const check = await cli.run('config', 'check', '--json');
  expect(JSON.parse(check.stdout)).toMatchObject({ ok: true, problems: [] });
});

test('on a terminal it asks three questions and takes a channel from the shipped example, with nobody let in', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['openai', 'gpt-5-mini', 'telegarm, carrier-pigeon'];
  const { code, stderr } = await cli.run('init', '--color=never');
  expect(code).toBe(0);
  expect(stderr).toContain('left out "carrier-pigeon"');
  expect(await written(dir.path)).toMatchObject({
    provider: 'openai',
    model: 'gpt-5-mini',
    gateway: {
      channels: [{ type: 'cli' }, { type: 'telegram', allowed_senders: [], settings: { token_env: 'TELEGRAM_BOT_TOKEN' } }],
    },
  });
  cli.answers = undefined;
  expect((await cli.run('config', 'check')).code).toBe(0);
});

test('an existing config is not overwritten: exit code 4 names --force, and on a terminal it asks', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('.gatehouse/config.json', '{"model": "mine"}');
  const refused = await cli.run('init', '--defaults', '--json');
  expect(refused.code).toBe(4);
  expect(JSON.parse(refused.stdout)).toMatchObject({
    ok: false,
    error: { code: 'GH1005', hint: expect.stringContaining('--force') },
  });
  cli.answers = ['n'];
  expect((await cli.run('init', '--defaults')).code).toBe(4);
  expect(await written(dir.path)).toEqual({ model: 'mine' });
  cli.answers = ['y'];
  expect((await cli.run('init', '--defaults')).code).toBe(0);
  expect(await written(dir.path)).toHaveProperty('version', 1);
  cli.answers = undefined;
  expect((await cli.run('init', '--force')).code).toBe(0);
});

test('--dry-run prints the config and writes nothing', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { code, stdout } = await cli.run('init', '--dry-run');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ version: 1 });
  expect(await readdir(dir.path)).toEqual([]);
});

test('input that ends before all is answered writes nothing', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['openai'];
  cli.endsInput = true;
  const { code, stderr } = await cli.run('init');
  expect(code).toBe(2);
  expect(stderr).toContain('the input ended before all questions were answered');
  expect(await readdir(dir.path)).toEqual([]);
});
