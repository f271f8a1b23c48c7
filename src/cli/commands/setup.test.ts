import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';

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
  expect((await cli.run('setup', '--token-file', 'one.txt', '--owner', '1')).stderr).toMatch(
    /one\.txt holds no token of Telegram or Discord\n.*gatehouse init/,
  );
  expect((await cli.run('setup', '--key-file', '.')).stderr).toMatch(/GH1001 \. cannot be read: it is a directory/);
  cli.env = { PATH: dir.path };
  expect((await cli.run('setup', '--key-file', 'one.txt', '--service')).stderr).toContain('GH1107');
});

test('a model that does not answer is told with what is wrong with it, and not as a wrong key', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('key.txt', 'sk-one\n');
  const fails = (kind: 'auth' | 'network') => scriptedModel([{ fail: kind }]);
  const asked = ['setup', '--key-file', 'key.txt', '--model', 'm'];
  cli.models.set('openai/m', fails('network'));
  const { code, stderr } = await cli.run(...asked);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/GH1001 no model answered; nothing was written\n {2}→ \S/)]);
  cli.models.set('openai/m', fails('auth'));
  const refused = await cli.run(...asked);
  expect(refused.stderr).toMatch(/→ check the key: it is taken for one of openai; name another with --provider/);
  expect(await readdir(dir.path)).toEqual(['key.txt']);
});

test('a day may cost two dollars where the price is known, and where it is not that is said', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('key.txt', 'sk-ant-one\n');
  const asked = ['setup', '--force', '--key-file', 'key.txt'];
  cli.models.set('anthropic/claude-sonnet-4-5', scriptedModel([{ text: 'ok' }]));
  expect((await cli.run(...asked, '--model', 'claude-sonnet-4-5')).stderr).toContain('models may cost 2 USD a day');
  const file = `${dir.path}/.gatehouse/config.json`;
  expect(JSON.parse(await readFile(file, 'utf8')).budget).toEqual({ daily_usd: 2 });
  cli.models.set('anthropic/own', scriptedModel([{ text: 'ok' }]));
  const own = await cli.run(...asked, '--model', 'own', '--base-url', 'http://127.0.0.1:9/v1');
  expect(own.stderr).toContain('nothing limits it: set its "price" in "model_hints"');
  expect(JSON.parse(await readFile(file, 'utf8')).budget).toBeUndefined();
  expect(JSON.parse(await readFile(`${file}.bak`, 'utf8')).budget).toEqual({ daily_usd: 2 });
});

test('a model that a flag names has the limit of a day also where its key is left to be found', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.env = { ANTHROPIC_API_KEY: 'sk-ant-one' };
  cli.answers = ['', '', 'n'];
  const { code, stderr } = await cli.run('setup', '--model', 'claude-sonnet-4-5');
  expect([code, stderr]).toEqual([0, expect.stringContaining('models may cost 2 USD a day')]);
  const config = JSON.parse(await readFile(`${dir.path}/.gatehouse/config.json`, 'utf8'));
  expect(config).toMatchObject({ model: 'claude-sonnet-4-5', budget: { daily_usd: 2 } });
});

test('a provider that a flag names is written down also where its key is left to be found', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['', '', 'n'];
  expect((await cli.run('setup', '--provider', 'groq', '--model', 'own')).code).toBe(0);
  const config = JSON.parse(await readFile(`${dir.path}/.gatehouse/config.json`, 'utf8'));
  expect(config).toMatchObject({ provider: 'groq', model: 'own' });
});

test('the whole address of a call as --base-url is refused with what belongs there', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('key.txt', 'sk-one\n');
  const { code, stderr } = await cli.run(
    'setup',
    '--key-file',
    'key.txt',
    '--base-url',
    'http://127.0.0.1:1/v1/chat/completions',
  );
  expect([code, stderr]).toEqual([78, expect.stringContaining('must end before the name of the call')]);
});

test('the key of a server on another machine is kept under a name by which a start sends it there', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.env = { OPENAI_API_KEY: 'sk-of-openai' };
  await cli.write('key.txt', 'sk-of-server\n');
  const asked = ['setup', '--force', '--key-file', 'key.txt', '--base-url', 'http://192.168.1.5:8000/v1'];
  cli.models.set('openai-compatible/qwen3', scriptedModel([{ text: 'ok' }]));
  const { code, stderr } = await cli.run(...asked, '--model', 'qwen3');
  expect([code, stderr]).toEqual([0, expect.stringContaining('asking openai-compatible/qwen3')]);
  const { logins } = JSON.parse((await cli.run('auth', 'status', '--json')).stdout);
  expect(logins).toMatchObject([{ provider: 'openai-compatible' }]);
  expect(JSON.parse(await readFile(`${dir.path}/.gatehouse/config.json`, 'utf8'))).toMatchObject({
    ...{ provider: 'openai-compatible', base_url: 'http://192.168.1.5:8000/v1', model: 'qwen3' },
  });
  cli.logins.set('openai-compatible', 'sk-of-server');
  cli.models.set('openai-compatible/qwen3', scriptedModel([{ text: 'ok' }]));
  expect(await cli.run('models', 'test')).toMatchObject({ code: 0 });
  expect(cli.apiKeys).toEqual(['sk-of-server', 'sk-of-server']);
});

test('a provider whose key is not sent to the address is refused, and so is a server without the name of a model', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('key.txt', 'sk-of-server\n');
  const asked = ['setup', '--key-file', 'key.txt', '--base-url', 'http://192.168.1.5:8000/v1'];
  const named = await cli.run(...asked, '--provider', 'openai', '--model', 'qwen3');
  expect([named.code, named.stderr]).toEqual([
    2,
    expect.stringMatching(/GH1001 a key of openai is not sent to the server of --base-url\n.*`--provider openai-compatible`/),
  ]);
  expect(await cli.run(...asked)).toMatchObject({ code: 2, stderr: expect.stringMatching(/GH1001 .*needs --model/) });
  expect(cli.apiKeys).toEqual([]);
});

test('a key is that of its provider where --base-url is an address of that provider, or a proxy on this machine', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('openai.txt', 'sk-one\n');
  await cli.write('anthropic.txt', 'sk-ant-one\n');
  const asked = async (file: string, url: string) =>
    (await cli.run('setup', '--force', '--key-file', file, '--model', 'm', '--base-url', url)).stderr;
  for (const provider of ['openai', 'anthropic', 'openai-compatible'])
    cli.models.set(`${provider}/m`, scriptedModel([{ text: 'ok' }, { text: 'ok' }]));
  expect(await asked('openai.txt', 'https://api.openai.com/v1')).toContain('asking openai/m');
  expect(await asked('openai.txt', 'http://127.0.0.1:4000/v1')).toContain('asking openai-compatible/m');
  expect(await asked('anthropic.txt', 'http://127.0.0.1:4000')).toContain('asking anthropic/m');
  expect(await asked('anthropic.txt', 'https://proxy.example/v1')).toContain('asking openai-compatible/m');
});

test('where another token of the bot is exported setup says so, and a start from it is that of the bot that was tried', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const [exported, typed] = [`11111:${'A'.repeat(35)}`, `22222:${'B'.repeat(35)}`];
  const bot = { name: 'telegram', type: 'telegram', account: '22222', state: 'healthy', since: 0 } as const;
  cli.tried = [{ ...bot, inboundClass: 'B', sendClass: 'blind' }];
  const sender = {
    channel: 'telegram',
    chatId: '7',
    senderId: '7',
    senderName: 'Ada',
    isGroup: false,
    taken: 0,
    held: 0,
    codes: [],
  };
  cli.awaitCode = async () => ({ kind: 'sender', sender });
  const said = 'TELEGRAM_BOT_TOKEN is exported as well, with another token';
  cli.env = { TELEGRAM_BOT_TOKEN: exported };
  cli.answers = ['', typed, 'y', 'y'];
  expect(await cli.run('setup')).toMatchObject({ code: 0, stderr: expect.stringContaining(said) });
  expect(cli.runs[0]?.env['TELEGRAM_BOT_TOKEN']).toBeUndefined();
  cli.env = { TELEGRAM_BOT_TOKEN: typed };
  expect((await cli.run('setup', '--force')).stderr).not.toContain(said);
});
