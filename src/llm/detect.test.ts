import { describe, expect, test } from 'vitest';
import { type AimockFixture, startAimock } from '../testing/aimock.ts';
import { FakeClock, until } from '../testing/fakes.ts';
import { jsonReply, startModelServer } from '../testing/model-server.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { collect, modelRequest } from './contract.ts';
import { createWire } from './create.ts';
import { type DetectOptions, detectModel } from './detect.ts';
import { PROVIDERS } from './providers/index.ts';

const KEY = 'sk-canary-7f3a9c51d2e8b604';
const signal = new AbortController().signal;
/** Nothing listens on the discard port of this machine. */
const NOWHERE = 'http://127.0.0.1:19';
const nowhere = { ollama: NOWHERE, lmStudio: NOWHERE, llamaCpp: NOWHERE };

/** Nothing moves this clock: a server has as long to answer a probe as it needs on a busy machine. */
const detect = (options: Partial<DetectOptions> = {}) =>
  detectModel({ config: {}, env: {}, fetch, clock: new FakeClock(), signal, origins: nowhere, ...options });

/** A server that answers only this path. */
const server = (path: string, body: object) =>
  startModelServer({ script: (request) => (request.path === path ? jsonReply(body) : { status: 404, pieces: [] }) });

const tags = (...models: string[]) => server('/api/tags', { models: models.map((name) => ({ name })) });
const list = (...models: string[]) => server('/v1/models', { object: 'list', data: models.map((id) => ({ id })) });

describe('config', () => {
  test('a configured provider is used and nothing is probed, not even when its key is missing', async () => {
    let fetched = 0;
    const counting: typeof fetch = (...args) => {
      fetched += 1;
      return fetch(...args);
    };
    const found = await detect({
      config: { provider: 'openai', model: 'gpt-4.1' },
      env: { OPENAI_API_KEY: KEY },
      fetch: counting,
    });
    expect(found).toMatchObject({ source: 'config', id: 'openai/gpt-4.1', target: { contextWindow: 1_047_576 } });
    expect(found.key?.value()).toBe(KEY);
    await expect(detect({ config: { provider: 'groq' }, fetch: counting })).rejects.toMatchObject({
      code: 'GH1103',
      message: expect.stringContaining('GROQ_API_KEY'),
    });
    expect(fetched).toBe(0);
  });

  test('api_key_env names the variable, and an unset one is an error', async () => {
    const config = { provider: 'openai-compatible', model: 'm', base_url: 'http://127.0.0.1:1/v1/', api_key_env: 'MY_KEY' };
    expect((await detect({ config, env: { MY_KEY: KEY } })).key?.value()).toBe(KEY);
    await expect(detect({ config })).rejects.toMatchObject({ code: 'GH1103' });
    expect(
      (await detect({ config: { ...config, provider: 'ollama', api_key_env: 'MY_KEY' }, env: { MY_KEY: 'x' } })).target?.baseUrl,
    ).toBe('http://127.0.0.1:1/v1');
  });

  test('the usual variable stands in for an unset api_key_env at the own address, and a line says so', async () => {
    const found = await detect({ config: { provider: 'groq', api_key_env: 'MY_KEY' }, env: { GROQ_API_KEY: KEY } });
    expect(found.key?.value()).toBe(KEY);
    expect(found.lines).toContain('the key is from GROQ_API_KEY, not from MY_KEY');
  });

  test('a key in the path or the query of a base_url is not said', async () => {
    const base_url = 'https://gate.example/k9f3a7c2d8e1b4a6/v1?token=canary';
    const found = await detect({ config: { base_url, model: 'gpt-4o' }, env: {} });
    expect(found.lines.join('\n')).toContain('at https://gate.example/[redacted]/v1');
    expect(found.lines.join('\n')).not.toMatch(/canary|k9f3a7/);
  });

  test('a base_url alone never receives the key of a known provider', async () => {
    const found = await detect({ config: { base_url: 'http://127.0.0.1:1/v1', model: 'gpt-4o' }, env: { OPENAI_API_KEY: KEY } });
    expect(found).toMatchObject({ id: 'openai-compatible/gpt-4o' });
    expect(found.key?.value()).toBeUndefined();
  });
});

describe('environment', () => {
  test('the first key in the documented order wins, the others are listed, no value is shown', async () => {
    const found = await detect({ env: { GROQ_API_KEY: `${KEY}2`, OPENAI_API_KEY: KEY, DEEPSEEK_API_KEY: ` ${KEY}3 ` } });
    expect(found).toMatchObject({ source: 'environment', id: 'openai/gpt-6.1-terra' });
    expect(found.lines.join('\n')).toContain('also set, not used: DEEPSEEK_API_KEY, GROQ_API_KEY');
    expect(JSON.stringify(found) + found.lines.join('\n')).not.toContain('canary');
  });

  test('an empty key counts as none', async () => {
    expect((await detect({ env: { OPENAI_API_KEY: '  ' } })).source).toBe('demo');
  });

  test('OPENAI_BASE_URL is obeyed and announced: the answer comes from there', async () => {
    const fixtures: AimockFixture[] = [{ match: { userMessage: 'hi' }, response: { content: 'from there' } }];
    await using aimock = await startAimock({ fixtures });
    const found = await detect({ env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${aimock.url}/v1` } });
    expect(found.lines.join('\n')).toContain(`${aimock.url}/v1 from OPENAI_BASE_URL`);
    if (!found.target) throw new Error('no model was found');
    const model = createWire(found.target, found.key?.value(), {
      clock: new SteadyClock(),
      timeouts: { connectMs: 1_000, totalMs: 5_000 },
    });
    await model.warm();
    expect((await collect(model.call(modelRequest('hi'), signal))).at(-1)).toMatchObject({ answer: { text: 'from there' } });
    expect(await aimock.journal()).toHaveLength(1);
  });

  test('a key without a config starts with a daily limit of 2 USD, said in its line, unless the config sets limits', async () => {
    const env = { ANTHROPIC_API_KEY: KEY };
    const found = await detect({ env });
    expect(found).toMatchObject({ id: 'anthropic/claude-sonnet-5-5', defaultDailyUsd: 2, target: { wire: 'anthropic' } });
    expect(found.lines[0]).toBe(
      'anthropic/claude-sonnet-5-5 from ANTHROPIC_API_KEY (paid; default limit 2.00 USD a day, change it with "budget" in the config)',
    );
    expect((await detect({ env, spentTodayUsd: 0.128 })).lines[0]).toContain('(paid; today 0.13 of 2.00 USD default limit)');
    const limited = await detect({ env, hasBudget: true });
    expect(limited.defaultDailyUsd).toBeUndefined();
    expect(limited.lines[0]).toContain('(paid; limits as in the config)');
    expect((await detect({ env, config: { provider: 'anthropic' } })).defaultDailyUsd).toBeUndefined();
  });

  test('every provider with a known address is found by its key: Gemini, OpenAI, then the order of the registry', async () => {
    const hosted = PROVIDERS.filter((provider) => provider.keyEnv && provider.baseUrl);
    const all = Object.fromEntries(hosted.map((provider) => [provider.keyEnv, KEY]));
    const order: string[] = [];
    for (const provider of hosted) {
      const found = await detect({ env: all });
      order.push(found.target?.provider.name ?? '');
      expect((await detect({ env: { [provider.keyEnv ?? '']: KEY } })).target?.provider).toBe(provider);
      delete all[found.target?.provider.keyEnv ?? ''];
    }
    const rest = hosted.map((provider) => provider.name).filter((name) => name !== 'gemini' && name !== 'openai');
    expect(order).toEqual(['gemini', 'openai', ...rest]);
    expect(order.slice(0, 3)).toEqual(['gemini', 'openai', 'anthropic']);
  });

  const keys = { GEMINI_API_KEY: KEY, OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY };
  test.each([
    ['a flag goes before every key', { ...keys, USE_OLLAMA: 'true' }, 'ollama/llama3.2'],
    ['Gemini before Ollama', { ...keys, USE_GEMINI: '1', USE_OLLAMA: '1' }, 'gemini/gemini-3.8-flash'],
    ['a flag that is off says nothing', { ...keys, USE_OLLAMA: 'false' }, 'gemini/gemini-3.8-flash'],
    ['OLLAMA_MODEL goes behind a key of Gemini', { ...keys, OLLAMA_MODEL: 'qwen3:4b' }, 'gemini/gemini-3.8-flash'],
    ['and before one of OpenAI', { ...keys, GEMINI_API_KEY: '', OLLAMA_MODEL: 'qwen3:4b' }, 'ollama/qwen3:4b'],
    ['USE_OLLAMA with a model', { USE_OLLAMA: 'yes', OLLAMA_MODEL: 'qwen3:4b' }, 'ollama/qwen3:4b'],
  ])('R47 %s', async (_name, env, id) => {
    const found = await detect({ env });
    expect(found.id).toBe(id);
    expect(found.lines.join()).not.toContain('canary');
  });

  test('R47 the config goes before every flag, a flag before a login, and a flag without its key is an error', async () => {
    const env = { USE_OLLAMA: '1', OPENAI_API_KEY: KEY, OLLAMA_HOST: '127.0.0.1:9999' };
    expect((await detect({ env, config: { provider: 'openai' } })).source).toBe('config');
    const found = await detect({ env, storedKey: async () => KEY });
    expect(found).toMatchObject({ source: 'local', target: { baseUrl: 'http://127.0.0.1:9999/v1' } });
    expect(found.lines).toEqual(['ollama/llama3.2 from USE_OLLAMA, at http://127.0.0.1:9999/v1']);
    expect(found.defaultDailyUsd).toBeUndefined();
    await expect(detect({ env: { USE_GEMINI: '1' } })).rejects.toMatchObject({ code: 'GH1103' });
  });

  test('R48 OPEN_AI_BASE is obeyed like OPENAI_BASE_URL, which goes before it', async () => {
    const env = { OPENAI_API_KEY: KEY, OPEN_AI_BASE: 'http://127.0.0.1:1/v1' };
    expect((await detect({ env })).lines).toContain('at http://127.0.0.1:1/v1 from OPEN_AI_BASE');
    expect((await detect({ env: { ...env, OPENAI_BASE_URL: 'http://127.0.0.1:2/v1' } })).target?.baseUrl).toContain(':2');
  });

  test('a stored login goes before all variables, is for the own address alone, and is announced', async () => {
    const found = await detect({
      env: { ANTHROPIC_API_KEY: `${KEY}1`, OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' },
      storedKey: async (provider) => (provider === 'openai' ? `${KEY}2` : undefined),
    });
    expect(found).toMatchObject({
      source: 'login',
      id: 'openai/gpt-6.1-terra',
      defaultDailyUsd: 2,
      target: { baseUrl: 'https://api.openai.com/v1' },
    });
    expect(found.key?.value()).toBe(`${KEY}2`);
    expect(found.lines.join('\n')).toContain('from the stored login');
    expect(found.lines.join('\n')).toContain('also set, not used: ANTHROPIC_API_KEY');
    expect(JSON.stringify(found) + found.lines.join('\n')).not.toContain('canary');
  });
});

describe('servers of this machine', () => {
  test('are reached with the headers and the fields of the config, however they were found', async () => {
    await using ollama = await tags('qwen3:4b');
    const config = { extra_headers: { 'X-Team': 'gate' }, extra_body: { seed: 7 } };
    for (const found of [
      await detect({ config, origins: { ...nowhere, ollama: ollama.url } }),
      await detect({ config, env: { OLLAMA_MODEL: 'qwen3:4b' } }),
      await detect({ config, env: { USE_GEMINI: '1', GEMINI_API_KEY: KEY } }),
    ])
      expect(found.target).toMatchObject({ extraHeaders: config.extra_headers, extraBody: config.extra_body });
  });

  test('ollama is used with its first model that calls tools', async () => {
    await using ollama = await tags('nomic-embed-text:latest', 'gemma3:4b', 'qwen3:4b', 'llama3.2:latest');
    await using studio = await list('other');
    const found = await detect({ origins: { ...nowhere, ollama: ollama.url, lmStudio: studio.url } });
    expect(found).toMatchObject({ source: 'local', id: 'ollama/qwen3:4b', target: { baseUrl: `${ollama.url}/v1` } });
    expect(found.lines.join('\n')).toContain('also running, not used: lm studio');
    expect(ollama.requests.map((request) => [request.method, request.path])).toEqual([['GET', '/api/tags']]);
  });

  test('an ollama without such a model is passed over, and the reason is shown', async () => {
    await using ollama = await tags('gemma3:4b', 'llava:7b');
    const found = await detect({ origins: { ...nowhere, ollama: ollama.url } });
    expect(found.source).toBe('demo');
    expect(found.lines.join('\n')).toContain('(running, no tool-capable model among 2)');
  });

  test('an ollama model that runs in the cloud of its maker is never chosen', async () => {
    await using ollama = await tags('gpt-oss:120b-cloud', 'qwen3:4b');
    const found = await detect({ origins: { ...nowhere, ollama: ollama.url } });
    expect(found).toMatchObject({ id: 'ollama/qwen3:4b', target: { contextWindow: 8_192, facts: { price: { in: 0, out: 0 } } } });
    expect(found.lines[0]).toContain('(on this machine, no cost)');
  });

  test('LM Studio and llama.cpp are used with their first model that is no embedding', async () => {
    await using studio = await list('text-embedding-nomic', 'qwen2.5-7b-instruct');
    expect((await detect({ origins: { ...nowhere, lmStudio: studio.url } })).id).toBe('openai-compatible/qwen2.5-7b-instruct');
    await using llama = await list('model.gguf');
    expect((await detect({ origins: { ...nowhere, llamaCpp: llama.url } })).id).toBe('openai-compatible/model.gguf');
  });

  test('OLLAMA_HOST is where ollama is looked for, in every form it may have', async () => {
    await using ollama = await tags('qwen3:4b');
    const { port } = new URL(ollama.url);
    for (const host of [ollama.url, `127.0.0.1:${port}`, `0.0.0.0:${port}`, `:${port}`]) {
      const found = await detect({ env: { OLLAMA_HOST: host }, origins: { lmStudio: NOWHERE, llamaCpp: NOWHERE } });
      expect(found.target?.baseUrl, host).toBe(`http://127.0.0.1:${port}/v1`);
    }
  });

  test('servers that hang, answer something else or redirect cost 300 ms together and are not used', async () => {
    await using hanging = await startModelServer({ script: () => ({ pieces: ['{"data":'], end: 'hang' }) });
    await using web = await startModelServer({
      script: () => ({ headers: { 'content-type': 'text/html' }, pieces: ['<html>'] }),
    });
    await using moved = await startModelServer({
      script: () => ({ status: 302, headers: { location: hanging.url }, pieces: [] }),
    });
    await using silent = await startModelServer({ script: () => ({ pieces: [], end: 'hang' }) });
    const clock = new FakeClock();
    let found: Awaited<ReturnType<typeof detect>> | undefined;
    const finding = (async () => {
      await detect({ clock, origins: { ollama: web.url, lmStudio: moved.url, llamaCpp: NOWHERE } });
      found = await detect({ clock, origins: { ollama: hanging.url, lmStudio: silent.url, llamaCpp: moved.url } });
    })();
    await until('both are asked', () => hanging.requests.length > 0 && silent.requests.length > 0);
    await clock.advance(299);
    expect(found).toBeUndefined();
    await clock.advance(1);
    await finding;
    expect(found?.source).toBe('demo');
  });

  test('nothing found is the demo, which says what was looked for and what to do', async () => {
    const found = await detect();
    expect(found.id).toBe('demo');
    expect(found.lines).toEqual([
      'demo: no real AI. It cannot think; everything around it is real.',
      'looked for: 18 env keys (none), ollama :19 (no), lm studio :19 (no), llama.cpp :19 (no)',
      expect.stringContaining('gatehouse setup'),
    ]);
  });

  test('an abort ends the detection with its reason', async () => {
    await using hanging = await startModelServer({ script: () => ({ pieces: [], latencyMs: 5_000 }) });
    const stop = new AbortController();
    const result = detect({ signal: stop.signal, origins: { ...nowhere, ollama: hanging.url } });
    stop.abort(new Error('stopping'));
    await expect(result).rejects.toThrow('stopping');
  });
});

test('a key of the environment that no key can be is refused by the name of its variable', async () => {
  await expect(detect({ env: { OPENAI_API_KEY: 'sk-\u200b1' } })).rejects.toMatchObject({
    code: 'GH1103',
    message: 'the key in OPENAI_API_KEY is empty or holds characters that no key has',
  });
});
