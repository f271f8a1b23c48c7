import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { CHANNELS } from '../../../channels/registry.ts';
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

test('on a terminal it asks three questions and takes a channel with the variables it needs and nobody let in', async () => {
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

test('a provider that is named has the limit of a day, and that is said', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['openai', '', ''];
  expect((await cli.run('init')).stderr).toContain('models may cost 2 USD a day');
  expect(await written(dir.path)).toMatchObject({ provider: 'openai', budget: { daily_usd: 2 } });
});

/** What a person types for the settings that a channel cannot do without, in the order of the questions. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  email: ['imap.example.org', 'smtp.example.org', 'not an address', 'bot@example.org', 'mx.example.org'],
  wecom: ['soon', '1000002'],
  twilio: ['5551234567', '+15551234567'],
  irc: ['irc.example.org', '#nick', 'gatehouse'],
};

/** What the operator exports or stores after `init`. */
const TOKENS = [
  ...['TELEGRAM_BOT_TOKEN', 'DISCORD_BOT_TOKEN', 'SLACK_BOT_TOKEN', 'EMAIL_PASSWORD', 'WECOM_AGENT_SECRET'],
  ...['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN', 'FEISHU_APP_ID', 'FEISHU_APP_SECRET'],
];

test.each(Object.keys(CHANNELS).filter((type) => type !== 'cli'))(
  'a config with %s passes the check: what the channel cannot do without is asked for, until it is right',
  async (type) => {
    await using dir = await tempDir();
    const cli = withAllChannels(dir.path);
    cli.answers = ['', type, ...(REQUIRED[type] ?? [])];
    expect((await cli.run('init')).code).toBe(0);
    expect(await written(dir.path)).toMatchObject({ gateway: { channels: [{ type: 'cli' }, { type, allowed_senders: [] }] } });
    cli.answers = undefined;
    cli.env = Object.fromEntries(TOKENS.map((variable) => [variable, `the ${variable}`]));
    const { code, stderr } = await cli.run('config', 'check');
    expect([code, stderr]).toEqual([0, '']);
  },
);

test('a channel whose question is left empty is left out, and said so', async () => {
  await using dir = await tempDir();
  const cli = withAllChannels(dir.path);
  cli.answers = ['', 'irc slack', 'irc.example.org', ''];
  const { code, stderr } = await cli.run('init');
  expect([code, stderr]).toEqual([0, expect.stringContaining('left out irc')]);
  expect(await written(dir.path)).toMatchObject({ gateway: { channels: [{ type: 'cli' }, { type: 'slack' }] } });
});

function withAllChannels(dir: string): FakeCli {
  const cli = new FakeCli(dir);
  const settings = (load: () => Promise<{ settings: ZodType }>) => async () => (await load()).settings;
  cli.channels = Object.fromEntries(Object.entries(CHANNELS).map(([type, load]) => [type, settings(load)]));
  return cli;
}

test('a provider that there is not is asked for again, and a channel in its place is told apart', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['telegram', 'opnai', 'OpenAI', '', 'telegram'];
  const { code, stderr } = await cli.run('init');
  expect(code).toBe(0);
  expect(stderr).toContain('there is no provider "telegram"; there are anthropic, openai, ');
  expect(stderr).toContain('it is a channel');
  expect(stderr).toContain('did you mean openai?');
  const config = await written(dir.path);
  expect(config).toMatchObject({ provider: 'openai', gateway: { channels: [{ type: 'cli' }, { type: 'telegram' }] } });
  expect(config).not.toHaveProperty('model');
});

test('a provider without a model or an address of its own is asked about until it can be called', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['vllm', '', 'http://127.0.0.1:8000/v1', 'qwen3', 'nowhere', 'qwen3', 'http://127.0.0.1:8000/v1'];
  const { code, stderr } = await cli.run('init');
  expect([code, stderr]).toEqual([0, expect.stringContaining('provider "vllm" needs a model')]);
  expect(stderr).toContain('base_url is not an http or https URL');
  expect(await written(dir.path)).toMatchObject({ provider: 'vllm', model: 'qwen3', base_url: 'http://127.0.0.1:8000/v1' });
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

test('an input that ends at a question of init names the option by which it is not asked', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = [];
  cli.endsInput = true;
  expect(await cli.run('init')).toMatchObject({ code: 2, stderr: expect.stringContaining('`--defaults`') });
  await cli.write('.gatehouse/config.json', '{}');
  expect(await cli.run('init')).toMatchObject({ code: 2, stderr: expect.stringContaining('`--force`') });
});

test.each(['init', 'setup'])('%s takes no --config: it would write one file and name another', async (command) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['', '', 'n'];
  const { code, stderr } = await cli.run(command, '--force', '--config', 'bot.json');
  expect([code, stderr]).toEqual([2, expect.stringContaining('takes no --config')]);
  expect(await readdir(dir.path)).toEqual([]);
});
