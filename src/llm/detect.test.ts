import { describe, expect, test } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { type AimockFixture, startAimock } from '../testing/aimock.ts';
import { jsonReply, startModelServer } from '../testing/model-server.ts';
import { collect, modelRequest } from './contract.ts';
import { createModel } from './create.ts';
import { type DetectOptions, detectModel } from './detect.ts';
import { PROVIDERS, resolveProvider } from './providers/index.ts';

const KEY = 'sk-canary-7f3a9c51d2e8b604';
const signal = new AbortController().signal;
/** Nothing listens on the discard port of this machine. */
const NOWHERE = 'http://127.0.0.1:19';
const nowhere = { ollama: NOWHERE, lmStudio: NOWHERE, llamaCpp: NOWHERE };

const detect = (options: Partial<DetectOptions> = {}) =>
  detectModel({ config: {}, env: {}, fetch, clock: systemClock, signal, origins: nowhere, ...options });

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
    expect(found.apiKey()).toBe(KEY);
    await expect(detect({ config: { provider: 'groq' }, fetch: counting })).rejects.toMatchObject({
      code: 'GH1103',
      message: expect.stringContaining('GROQ_API_KEY'),
    });
    expect(fetched).toBe(0);
  });

  test('a provider whose wire is missing is refused by name, with those that work', async () => {
    for (const config of [
      { provider: 'anthropic' },
      { provider: 'google' },
      { model: 'claude-sonnet-4' },
      { model: 'gemini/pro' },
    ]) {
      await expect(detect({ config, env: { OPENAI_API_KEY: KEY } })).rejects.toMatchObject({
        code: 'GH1104',
        message: expect.stringMatching(/(anthropic|gemini)" is not available/),
        hint: expect.stringContaining('openai, openrouter'),
      });
    }
  });

  test('api_key_env names the variable, and an unset one is an error', async () => {
    const config = { provider: 'openai-compatible', model: 'm', base_url: 'http://127.0.0.1:1/v1/', api_key_env: 'MY_KEY' };
    expect((await detect({ config, env: { MY_KEY: KEY } })).apiKey()).toBe(KEY);
    await expect(detect({ config })).rejects.toMatchObject({ code: 'GH1103' });
    expect(
      (await detect({ config: { ...config, provider: 'ollama', api_key_env: 'MY_KEY' }, env: { MY_KEY: 'x' } })).target?.baseUrl,
    ).toBe('http://127.0.0.1:1/v1');
  });

  test('a base_url alone never receives the key of a known provider', async () => {
    const found = await detect({ config: { base_url: 'http://127.0.0.1:1/v1', model: 'gpt-4o' }, env: { OPENAI_API_KEY: KEY } });
    expect(found).toMatchObject({ id: 'openai-compatible/gpt-4o' });
    expect(found.apiKey()).toBeUndefined();
  });
});

describe('environment', () => {
  test('the first key in the documented order wins, the others are listed, no value is shown', async () => {
    const found = await detect({ env: { GROQ_API_KEY: `${KEY}2`, OPENAI_API_KEY: KEY, DEEPSEEK_API_KEY: ` ${KEY}3 ` } });
    expect(found).toMatchObject({ source: 'environment', id: 'openai/gpt-4o' });
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
    const model = createModel(found, { clock: systemClock, random: Math.random, timeouts: { connectMs: 1_000, totalMs: 5_000 } });
    await model.warm();
    expect((await collect(model.call(modelRequest('hi'), signal))).at(-1)).toMatchObject({ answer: { text: 'from there' } });
    expect(await aimock.journal()).toHaveLength(1);
  });

  test('a key for a provider that is not there yet is mentioned', async () => {
    const found = await detect({ env: { ANTHROPIC_API_KEY: KEY } });
    expect(found.source).toBe('demo');
    expect(found.lines.join('\n')).toContain('ANTHROPIC_API_KEY is set, but anthropic is not available');
    expect(found.lines.join('\n')).not.toContain('canary');
  });
});

describe('servers of this machine', () => {
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
    const start = performance.now();
    const found = await detect({ origins: { ollama: hanging.url, lmStudio: web.url, llamaCpp: moved.url } });
    expect(found.source).toBe('demo');
    expect(performance.now() - start).toBeLessThan(700);
  });

  test('nothing found is the demo, which says what was looked for and what to do', async () => {
    const found = await detect();
    expect(found.id).toBe('demo');
    expect(found.lines).toEqual([
      'demo: no real AI. It cannot think; everything around it is real.',
      'looked for: 9 env keys (none), ollama :19 (no), lm studio :19 (no), llama.cpp :19 (no)',
      expect.stringContaining('gatehouse init'),
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

describe('resolveProvider', () => {
  test.each([
    [{ model: 'gpt-4o' }, 'openai', 'gpt-4o'],
    [{ model: 'o3-mini' }, 'openai', 'o3-mini'],
    [{ model: 'deepseek-reasoner' }, 'deepseek', 'deepseek-reasoner'],
    [{ model: 'ollama/qwen3:4b' }, 'ollama', 'qwen3:4b'],
    [{ provider: 'openrouter', model: 'anthropic/claude-sonnet-4' }, 'openrouter', 'anthropic/claude-sonnet-4'],
    [{ provider: 'KIMI' }, 'moonshot', 'kimi-k2.5'],
    [{ provider: 'qwen' }, 'dashscope', 'qwen-max'],
  ])('%o is %s with %s', (config, provider, model) => {
    const resolved = resolveProvider(config);
    expect([resolved.provider.name, resolved.model]).toEqual([provider, model]);
  });

  test.each([
    [{}, 'GH1101'],
    [{ provider: 'vllm', base_url: 'http://127.0.0.1:1' }, 'GH1101'],
    [{ provider: 'vllm', model: 'm' }, 'GH1101'],
    [{ provider: 'openai', base_url: 'ftp://x' }, 'GH1101'],
    [{ provider: 'nobody' }, 'GH1104'],
    [{ model: 'unheard-of' }, 'GH1104'],
  ])('%o is refused with %s', (config, code) => {
    expect(() => resolveProvider(config)).toThrow(expect.objectContaining({ code }));
  });

  test('A29 a password in base_url is refused without repeating it', () => {
    const config = { provider: 'openai', base_url: `http://user:${KEY}@127.0.0.1/v1` };
    expect(() => resolveProvider(config)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('canary') }));
  });

  test('names and aliases are unique', () => {
    const names = PROVIDERS.flatMap((provider) => [provider.name, ...provider.aliases]);
    expect(new Set(names).size).toBe(names.length);
  });
});
