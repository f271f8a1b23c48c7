import { expect, test } from 'vitest';
import { ERROR_CODES } from '../../core/error-codes.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

test('check names every problem with its place on stderr and exits with 78', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const file = await cli.write('bot.json', '{\n  "log": { "level": "inof" },\n  "max_iterations": 0,\n  "x": 1\n}');
  const { code, stdout, stderr } = await cli.run('config', 'check', '--config', 'bot.json');
  expect([code, stdout]).toEqual([78, '']);
  expect(stderr.split('\n').filter((line) => /^[✗!]/.test(line))).toEqual([
    `✗ ${file}:2:21: log.level: "inof" is not known; it must be one of: debug, info, warn, error`,
    `✗ ${file}:3:21: max_iterations: must be at least 1`,
    `! ${file}:4:3: x: unknown key, ignored`,
    `✗ GH1101 2 problems in ${file}`,
  ]);
  const json = await cli.run('config', 'check', '--config', 'bot.json', '--json');
  expect([json.code, json.stderr]).toEqual([78, '']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    error: { code: 'GH1101' },
    problems: [
      { severity: 'error', path: 'log.level', line: 2, col: 21, hint: 'did you mean "info"?' },
      {},
      { severity: 'warning' },
    ],
  });
});

test.each(['0.0.0.0', '::', '192.168.1.5'])(
  'check refuses %s as gateway.http.host, with which no daemon starts',
  async (host) => {
    await using dir = await tempDir();
    const cli = new FakeCli(dir.path);
    await cli.write('bot.json', JSON.stringify({ gateway: { http: { host } } }));
    expect(await cli.run('config', 'check', '--config', 'bot.json')).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/gateway\.http\.host: .*must be one of: 127\.0\.0\.1, ::1, localhost/),
    });
  },
);

test('check says which file is valid, or that there is none', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  expect((await cli.run('config', 'check')).stdout).toBe('✓ no config file: the defaults apply\n');
  const file = await cli.write('.gatehouse/config.json', '{"y": 1}');
  expect(await cli.run('config', 'check')).toMatchObject({ code: 0, stdout: `✓ ${file} is valid, 1 warning\n` });
  expect(JSON.parse((await cli.run('config', 'check', '--json')).stdout)).toMatchObject({
    ok: true,
    file,
    problems: [{ path: 'y' }],
  });
});

test('check warns of a model whose price is not known, the main one and those that stand by', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const unknown = { model: 'mystery', base_url: 'https://models.example/v1' };
  await cli.write(
    'c.json',
    JSON.stringify({ ...unknown, fallback_models: [{ provider: 'anthropic' }, { provider: 'openai-compatible', ...unknown }] }),
  );
  const { code, stdout, stderr } = await cli.run('config', 'check', '--config', 'c.json');
  expect([code, stdout]).toEqual([0, expect.stringContaining('is valid, 3 warnings')]);
  const said = 'the price of openai-compatible/mystery is not known: every call will be refused under a limit';
  expect(stderr).toContain(`model: ${said}`);
  expect(stderr).toMatch(/^! \S+c\.json:1:\d+: model: the price of/m);
  expect(stderr).toMatch(/fallback_models\[1\]\.model: the price of openai-compatible\/mystery/);
  await cli.write('a.json', JSON.stringify({ ...unknown, budget: { daily_usd: 1, allow_unknown_price: true } }));
  expect((await cli.run('config', 'check', '--config', 'a.json')).stderr).toContain('no limit counts its calls');
  await cli.write('d.json', JSON.stringify({ ...unknown, model_hints: { price: { in: 1, out: 2 } } }));
  expect((await cli.run('config', 'check', '--config', 'd.json')).stderr).toBe('');
});

test('check finds what the start would refuse, of every model of the config, at its line', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const names = { fallback_models: [{ provider: 'antropic' }], models: { fast: { provider: 'groc', model: 'x' } } };
  await cli.write('names.json', JSON.stringify({ provider: 'openai', ...names }, null, 1));
  const wrong = await cli.run('config', 'check', '--config', 'names.json');
  expect(wrong.code).toBe(78);
  expect(wrong.stderr).toMatch(
    /names\.json:5:\d+: fallback_models\[0\]\.provider: "antropic" is not known.*\n.*\n.*\n +→ did you mean "anthropic"/,
  );
  expect(wrong.stderr).toMatch(/names\.json:\d+:\d+: models\.fast\.provider: "groc" is not known/);
  await cli.write('opus.json', JSON.stringify({ model: 'opus' }));
  expect(await cli.run('config', 'check', '--config', 'opus.json')).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('model: no provider is known for the model "opus"'),
  });
  await cli.write('azure.json', JSON.stringify({ models: { cloud: { provider: 'azure' } } }));
  const { code, stderr } = await cli.run('config', 'check', '--config', 'azure.json');
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('models.cloud.provider: provider "azure" needs AZURE_OPENAI_ENDPOINT'),
  ]);
  expect(stderr).toContain('→ export AZURE_OPENAI_ENDPOINT=…');
});

test("check warns of a model that has ended, is misspelt, or is another provider's", async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.clock.advance(Date.parse('2026-11-22') - cli.clock.now());
  const spare = ['gpt-5.6-lunna', 'claude-sonnet-5'].map((model) => ({ provider: 'openai', model }));
  await cli.write('c.json', JSON.stringify({ provider: 'openai', model: 'gpt-4', fallback_models: spare }));
  const { code, stderr } = await cli.run('config', 'check', '--config', 'c.json');
  expect(code).toBe(0);
  expect(stderr).toContain('model: openai/gpt-4 ended on 2026-10-23');
  expect(stderr).toContain('openai/gpt-5.6-lunna is not in the catalog: did you mean gpt-5.6-luna?');
  expect(stderr).toContain('openai/claude-sonnet-5 is not in the catalog: its window and price are guesses');
});

test('check says what to do about a key that was removed, and names the keys of a named model', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const models = { deep: { provider: 'anthropic', modell: 'x' } };
  await cli.write('c.json', JSON.stringify({ adaptive_routing: { mode: 'lane', qos_ranking: true }, models }));
  const { code, stderr } = await cli.run('config', 'check', '--config', 'c.json');
  expect(code).toBe(0);
  expect(stderr).toMatch(/adaptive_routing\.qos_ranking: this key was removed and does nothing\n.*\n.*\n +→ delete it/);
  expect(stderr).toMatch(/models\.deep\.modell: unknown key, ignored\n.*\n.*\n +→ did you mean "model"\?/);
});

test('check warns of the token of a channel that is not set, and refuses one bot in two variables, as the start does', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const second = { type: 'telegram', name: 'second', settings: { token_env: 'SECOND' } };
  await cli.write('c.json', JSON.stringify({ gateway: { channels: [{ type: 'telegram' }, second] } }));
  const unset = await cli.run('config', 'check', '--config', 'c.json');
  expect([unset.code, unset.stdout]).toEqual([0, expect.stringContaining('is valid, 2 warnings')]);
  expect(unset.stderr).toContain('TELEGRAM_BOT_TOKEN is not set, and channel telegram needs it');
  expect(unset.stderr).toMatch(
    /channels\[1\]\.type: .*SECOND is not set[^→]*→ export SECOND=…, or `gatehouse --config \S+ auth set-key second`/,
  );
  cli.env = { TELEGRAM_BOT_TOKEN: '1:a', SECOND: '1:a' };
  const shared = await cli.run('config', 'check', '--config', 'c.json');
  expect(shared.code).toBe(78);
  expect(shared.stderr).toMatch(
    /c\.json:1:\d+: gateway\.channels\[1\]: channel second: SECOND holds the token of channel telegram/,
  );
  cli.env = { TELEGRAM_BOT_TOKEN: '1:a', SECOND: '2:b' };
  expect((await cli.run('config', 'check', '--config', 'c.json')).stdout).toMatch(/is valid\n$/);
});

test('schema prints a JSON Schema with the settings of every channel', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { code, stdout } = await cli.run('config', 'schema');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ title: 'Gatehouse configuration' });
  expect(stdout).toContain('"const": "telegram"');
  expect(JSON.parse((await cli.run('config', 'schema', '--json')).stdout)).toMatchObject({
    schemaVersion: 1,
    ok: true,
    schema: {},
  });
});

test('explain knows every code, in any spelling', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  for (const [code, { title, hint }] of Object.entries(ERROR_CODES)) {
    for (const spelling of [code, code.toLowerCase(), code.slice(2)]) {
      expect((await cli.run('explain', spelling)).stdout).toBe(`${code}  ${title}\n  → ${hint}\n`);
    }
  }
  const all = JSON.parse((await cli.run('explain', '--json')).stdout) as { codes: unknown[] };
  expect(all.codes).toHaveLength(Object.keys(ERROR_CODES).length);
});

test('explain of an unknown code fails and names the nearest', async () => {
  await using dir = await tempDir();
  const { code, stderr } = await new FakeCli(dir.path).run('explain', 'GH1111');
  expect(code).toBe(1);
  expect(stderr).toMatch(/GH1003 there is no error code GH1111\n {2}→ did you mean GH\d{4}\?/);
});

test('check knows the providers: a daemon would not start with another one', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('.gatehouse/config.json', '{"provider": "opnai"}');
  const { code, stderr } = await cli.run('config', 'check');
  expect([code, stderr]).toEqual([78, expect.stringContaining('"opnai" is not known')]);
  expect(stderr).toContain('did you mean "openai"?');
  for (const config of [{ provider: 'OpenAI' }, { provider: 'lmstudio', model: 'qwen3', base_url: 'http://127.0.0.1:1234/v1' }]) {
    await cli.write('.gatehouse/config.json', JSON.stringify(config));
    expect((await cli.run('config', 'check')).code).toBe(0);
  }
});

test('a rule under another name of a provider, which no call has, stops the start with the own one', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.env = { GEMINI_API_KEY: 'k' };
  const config = { provider: 'google', tool_policy_by_provider: { google: { deny: ['shell'] } } };
  await cli.write('.gatehouse/config.json', JSON.stringify(config));
  expect(await cli.run('config', 'check')).toMatchObject({ code: 78, stderr: expect.stringContaining('write "gemini"') });
  const own = { ...config, tool_policy_by_provider: { gemini: { deny: ['shell'] } } };
  await cli.write('.gatehouse/config.json', JSON.stringify(own));
  expect(await cli.run('config', 'check')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('in force') });
});

test('a rule for a model under another name of its provider is warned of, and one for a model that a gateway names so is not', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.env = { XAI_API_KEY: 'k', OPENROUTER_API_KEY: 'k' };
  const checked = async (config: object) => {
    await cli.write('.gatehouse/config.json', JSON.stringify(config));
    return await cli.run('config', 'check');
  };
  const rule = { tool_policy_by_provider: { 'grok/grok-5': { deny: ['shell'] } } };
  const warned = { code: 0, stderr: expect.stringContaining('write "xai/grok-5"') };
  expect(await checked({ provider: 'grok', model: 'grok-5', ...rule })).toMatchObject(warned);
  const spare = { fallback_models: [{ provider: 'xai', model: 'grok-5' }] };
  expect(await checked({ provider: 'openrouter', model: 'grok/grok-5', ...spare, ...rule })).toMatchObject(warned);
  const passedOn = await checked({ provider: 'openrouter', model: 'grok/grok-5', ...rule });
  expect(passedOn).toMatchObject({ code: 0, stderr: expect.not.stringContaining('in force') });
});

test('the command that stores a missing key is named with the provider, or with the variable where that key is not used', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const hintOf = async (config: object) => {
    await cli.write('.gatehouse/config.json', JSON.stringify(config));
    return (await cli.run('config', 'check')).stderr;
  };
  expect(await hintOf({ model: 'gpt-5-mini' })).toContain('→ export OPENAI_API_KEY=…, or `gatehouse auth set-key openai`');
  expect(await hintOf({ provider: 'google' })).toContain('→ export GEMINI_API_KEY=…, or `gatehouse auth set-key gemini`');
  const elsewhere = { provider: 'openai', model: 'qwen3', base_url: 'http://192.168.1.5:8000/v1' };
  expect(await hintOf({ ...elsewhere, api_key_env: 'own_key' })).toMatch(/→ export own_key=…$/m);
  for (const [name, config] of Object.entries({ OPENAI_API_KEY: elsewhere, OWN: { ...elsewhere, api_key_env: 'OWN' } })) {
    expect(await hintOf(config)).toContain(`→ export ${name}=…, or \`gatehouse auth set-key ${name}\``);
    cli.input = 'sk-of-server';
    await cli.run('auth', 'set-key', name);
    expect(await hintOf(config)).not.toContain(name);
  }
});

test('check knows the variables that were stored, as a start does', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const own = { api_key_env: 'OWN_KEY' };
  const models = { main: { provider: 'openai', model: 'gpt-5-mini', ...own }, cloud: { provider: 'azure', model: 'm', ...own } };
  await cli.write('.gatehouse/config.json', JSON.stringify({ models }));
  expect((await cli.run('config', 'check')).stderr).toMatch(/OWN_KEY is not set[\s\S]*needs AZURE_OPENAI_ENDPOINT/);
  cli.input = 'https://x.openai.azure.com';
  await cli.run('auth', 'set-key', 'AZURE_OPENAI_ENDPOINT');
  await cli.run('auth', 'set-key', 'OWN_KEY');
  expect((await cli.run('config', 'check')).stderr).not.toMatch(/needs AZURE_OPENAI_ENDPOINT|OWN_KEY is not set/);
});
