import { expect, test } from 'vitest';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

async function cliWith(config: object): Promise<FakeCli & AsyncDisposable> {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write('.gatehouse/config.json', JSON.stringify(config));
  return Object.assign(cli, { [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() });
}

const CONFIG = {
  ...{ provider: 'openai', model: 'a', base_url: 'https://models.example/v1', api_key_env: 'MY_KEY', max_iterations: 7 },
  ...{ model_hints: { context_window: 5_000 }, fallback_models: [{ provider: 'anthropic', model: 'b' }] },
};

test('another model keeps server and key, and nothing that the config says of the first one', async () => {
  await using cli = await cliWith(CONFIG);
  expect(await cli.run('chat', '--model', 'c', '-m', 'hello')).toMatchObject({ code: 0 });
  const { config } = cli.runs[0]?.config ?? {};
  expect(config).toMatchObject({
    provider: 'openai',
    model: 'c',
    base_url: CONFIG.base_url,
    api_key_env: 'MY_KEY',
    max_iterations: 7,
  });
  expect(config).not.toHaveProperty('model_hints');
  expect(config?.fallback_models).toHaveLength(1);
});

test('another provider or server gets no key that is not meant for it, and no other model takes over', async () => {
  await using cli = await cliWith(CONFIG);
  await cli.run('chat', '--provider', 'ollama', '--max-iterations', '3');
  await cli.run('chat', '--base-url', 'http://127.0.0.1:8000/v1', '--model', 'c');
  const [first, second] = cli.runs.map(({ config }) => config.config);
  expect(first).toMatchObject({ provider: 'ollama', max_iterations: 3, fallback_models: [] });
  expect(first?.model).toBeUndefined();
  expect(second).toMatchObject({ provider: 'openai', model: 'c', base_url: 'http://127.0.0.1:8000/v1', fallback_models: [] });
  for (const config of [first, second]) expect(config).not.toHaveProperty('api_key_env');
});

test('a model that a flag names stays under the limit of a key that was found, unless the config chose one', async () => {
  await using cli = await cliWith({});
  await cli.run('chat', '--model', 'claude-opus-4-5', '-m', 'hello');
  await cli.run('chat', '--base-url', 'http://127.0.0.1:8000/v1', '--model', 'own');
  for (const { config } of cli.runs) expect(config.config.budget).toMatchObject({ daily_usd: 2 });
  for (const chosen of [{ model: 'gpt-5' }, { budget: { daily_usd: 9 } }]) {
    await using own = await cliWith(chosen);
    await own.run('chat', '--model', 'claude-opus-4-5', '-m', 'hello');
    expect(own.runs[0]?.config.config.budget?.daily_usd).toBe(chosen.budget?.daily_usd);
  }
});

test.each([
  ['a found key', 'OPENROUTER_API_KEY', ['--model', 'openrouter/vendor/brand-new'], false],
  ['a found key at another address', 'OPENAI_API_KEY', ['--provider', 'openai', '--base-url', 'http://127.0.0.1:1/v1'], false],
  ['a server with a key', 'OPENAI_COMPATIBLE_API_KEY', ['--base-url', 'https://models.example/v1', '--model', 'own'], false],
  ['a server without a key', 'OPENAI_API_KEY', ['--base-url', 'http://gpu:8000/v1', '--model', 'own'], true],
  ['a model of Ollama', 'OPENAI_API_KEY', ['--provider', 'ollama', '--model', 'own:cloud'], true],
])('of %s a model of unknown price is called only without a key', async (_title, key, flags, isCalled) => {
  await using cli = await cliWith({});
  cli.env = { [key]: 'sk-0123456789abcdef0123456789abcdef' };
  expect(await cli.run('chat', ...flags, '-m', 'hello')).toMatchObject({ code: 0 });
  const { budget, model_hints } = cli.runs[0]?.config.config ?? {};
  // The limit lets no other model through: one that `purposes` names may be paid.
  expect(budget).toMatchObject({ daily_usd: 2, allow_unknown_price: false });
  expect(model_hints?.price).toEqual(isCalled ? { in: 0, out: 0 } : undefined);
});

test('--cwd is where the config is looked for; --no-retry and --log reach the daemon', async () => {
  await using cli = await cliWith({ model: 'here' });
  await cli.write('there/.gatehouse/config.json', JSON.stringify({ model: 'there' }));
  await cli.run('chat', '-c', 'there', '--no-retry', '--log', 'json');
  expect(cli.runs[0]).toMatchObject({ config: { config: { model: 'there' } }, retries: false, logFormat: 'json' });
  await cli.run('chat');
  expect(cli.runs[1]).toMatchObject({ config: { config: { model: 'here' } } });
  expect(cli.runs[1]).not.toHaveProperty('retries');
});

test.each([
  [['--cwd', 'nowhere'], /--cwd nowhere is no directory/],
  [['--base-url', 'ftp://example.org'], /--base-url "ftp:\/\/example.org" is no address of a server/],
  [
    ['--base-url', 'http://user:word@example.org/v1?k=key'],
    /--base-url of "example\.org" is no address.*\n.*without a user name/,
  ],
  [['--base-url', 'http://127.0.0.1:9/v1'], /--base-url needs the name of a model.*\n.*add `--model NAME`/],
  [['--provider', ''], /--provider is empty/],
  [['--cwd', ''], /--cwd is empty/],
  [['--max-iterations', 'many'], /--max-iterations/],
  [['--log', 'xml'], /--log/],
])('%j is refused in words', async (flags, words) => {
  await using cli = await cliWith({});
  expect(await cli.run('chat', ...flags)).toMatchObject({ code: 2, stderr: expect.stringMatching(words) });
  expect(cli.runs).toEqual([]);
});

test('a model of another provider gets no key of the first, nor its own fields', async () => {
  await using cli = await cliWith({ model: 'llama-3.3-70b-versatile', api_key_env: 'MY_GROQ_KEY' });
  await cli.run('chat', '--model', 'openai/gpt-oss-120b');
  await cli.run('chat', '--model', 'llama-3.1-8b-instant');
  const [other, same] = cli.runs.map(({ config }) => config.config);
  expect(other).not.toHaveProperty('api_key_env');
  expect(same).toMatchObject({ api_key_env: 'MY_GROQ_KEY' });
  await using own = await cliWith({ ...CONFIG, extra_body: { route: 'x' }, extra_headers: { 'x-title': 'y' } });
  await own.run('chat', '--provider', 'ollama');
  await own.run('chat', '--model', 'c');
  const [elsewhere, here] = own.runs.map(({ config }) => config.config);
  for (const key of ['extra_body', 'extra_headers']) {
    expect(elsewhere).not.toHaveProperty(key);
    expect(here).toHaveProperty(key);
  }
});
