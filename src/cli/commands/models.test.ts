import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createFailure } from '../../llm/failure.ts';
import { startAimock } from '../../testing/aimock.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { compare } from './models-updates.ts';

const KEY = 'sk-canary-7f3a9c51d2e8b604';
const MAIN = join(import.meta.dirname, '..', 'main.ts');
const CONFIG = {
  provider: 'anthropic',
  fallback_models: [
    { provider: 'openai', model: 'gpt-5', api_key_env: 'MY_OPENAI' },
    { provider: 'ollama', model: 'qwen3:4b' },
    { provider: 'nobody' },
    { provider: 'google', model_hints: { price: { in: 1, out: 2 } } },
    { provider: 'groq' },
  ],
};

async function configured(dir: string, config: object = CONFIG): Promise<FakeCli> {
  const cli = new FakeCli(dir);
  await cli.write('.gatehouse/config.json', JSON.stringify(config));
  cli.env = { ANTHROPIC_API_KEY: KEY, GEMINI_API_KEY: `${KEY}g` };
  cli.logins.set('groq', `${KEY}l`);
  return cli;
}

describe('models list', () => {
  test('shows every model of the config, and where its key comes from but never the key', async () => {
    await using dir = await tempDir();
    const { code, stdout, stderr } = await (await configured(dir.path)).run('models', 'list');
    expect([code, stderr]).toEqual([0, '']);
    expect(columns(stdout)).toEqual([
      ['', 'name', 'model', 'wire', 'window', 'price', 'key'],
      ['✓ main', 'anthropic/claude-sonnet-5-5', 'anthropic', '1M', '2 / 10', 'from ANTHROPIC_API_KEY'],
      [
        '✗ fallback-1',
        'openai/gpt-5',
        'openai-responses',
        '400k',
        '1.25 / 10',
        expect.stringContaining('GH1103 MY_OPENAI is not'),
      ],
      ['✓ fallback-2', 'ollama/qwen3:4b', 'openai-chat', '8.2k', 'free', 'none needed'],
      ['✗ fallback-3', '?', 'GH1104 there is no provider "nobody"'],
      ['✓ fallback-4', 'gemini/gemini-3.8-flash', 'gemini', '1.05M', '1 / 2', 'from GEMINI_API_KEY'],
      ['✓ fallback-5', 'groq/openai/gpt-oss-120b', 'openai-chat', '131.1k', '0.15 / 0.6', 'from the stored login'],
      ['thinking: auto'],
      [expect.stringMatching(/^prices in USD per million tokens in \/ out; .*; catalog of \d{4}-\d\d-\d\d$/)],
    ]);
    expect(stdout).not.toContain('canary');
  });

  test('a key that was stored for its variable is found, and a file of keys that others can read hides no entry', async () => {
    await using dir = await tempDir();
    const cli = await configured(dir.path);
    cli.input = KEY;
    await cli.run('auth', 'set-key', 'MY_OPENAI');
    expect((await cli.run('models', 'list')).stdout).toMatch(/✓ fallback-1 .* from MY_OPENAI/);
    await chmod(join(cli.dataDir, 'auth.json'), 0o644);
    const { stdout } = await cli.run('models', 'list');
    expect(stdout).toMatch(/✓ main [\s\S]*✗ fallback-1 .*MY_OPENAI is not/);
  });

  test('--json has the same', async () => {
    await using dir = await tempDir();
    const { code, stdout } = await (await configured(dir.path)).run('models', 'list', '--json');
    expect(code).toBe(0);
    expect(stdout).not.toContain('canary');
    const document = JSON.parse(stdout) as { models: unknown[] };
    expect(document).toMatchObject({ schemaVersion: 1, ok: true, catalogUpdatedAt: expect.stringMatching(/^\d{4}-/) });
    expect(document.models).toMatchObject([
      {
        name: 'main',
        provider: 'anthropic',
        model: 'claude-sonnet-5-5',
        wire: 'anthropic',
        baseUrl: 'https://api.anthropic.com/',
        contextWindow: 1_000_000,
        maxOutputTokens: 128_000,
        vision: true,
        tools: true,
        price: { in: 2, out: 10 },
        keyFrom: 'ANTHROPIC_API_KEY',
        problem: null,
      },
      {
        name: 'fallback-1',
        price: { in: 1.25, out: 10 },
        keyFrom: null,
        problem: { code: 'GH1103', hint: 'export MY_OPENAI=…' },
      },
      { name: 'fallback-2', price: { in: 0, out: 0 }, keyFrom: null, problem: null },
      { name: 'fallback-3', provider: null, problem: { code: 'GH1104' } },
      { name: 'fallback-4', price: { in: 1, out: 2 } },
      { name: 'fallback-5', keyFrom: 'login' },
    ]);
  });

  test('names of the config, several keys, purposes and levels of thinking are shown, by name alone', async () => {
    await using dir = await tempDir();
    const cli = await configured(dir.path, {
      ...{ provider: 'openai', model: 'gpt-5', api_key_envs: ['KEY_A', 'KEY_B', 'KEY_C'], thinking: 'low' },
      models: {
        fast: { provider: 'ollama', model: 'qwen3:4b', description: 'short questions' },
        aws: { provider: 'bedrock', model: 'openai.gpt-oss-120b-1:0' },
      },
      purposes: { summary: 'fast' },
      gateway: { channels: [{ type: 'cli', model: 'fast', thinking: 'high' }] },
    });
    const aws = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: `${KEY}s` };
    cli.env = { KEY_A: `${KEY}a`, KEY_C: `${KEY}c`, ...aws };
    const { stdout } = await cli.run('models', 'list');
    expect(columns(stdout).slice(1, -1)).toEqual([
      [expect.stringContaining('main'), 'openai/gpt-5', 'openai-responses', '400k', expect.any(String), 'from KEY_A, KEY_C'],
      ['✓ fast', 'ollama/qwen3:4b', 'openai-chat', '8.2k', 'free', 'none needed'],
      [
        expect.stringContaining('aws'),
        'bedrock/openai.gpt-oss-120b-1:0',
        'openai-chat',
        expect.any(String),
        expect.any(String),
        'from AWS_ACCESS_KEY_ID',
      ],
      ['thinking: low'],
      ['purpose summary: model fast'],
      ['channel cli: model fast'],
      ['channel cli: thinking high'],
    ]);
    expect(stdout).not.toContain('canary');
    const document = JSON.parse((await cli.run('models', 'list', '--json')).stdout) as { models: unknown[] };
    expect(document).toMatchObject({ thinking: 'low', purposes: { summary: 'fast' } });
    expect(document.models).toMatchObject([
      { keysFrom: ['KEY_A', 'KEY_C'] },
      { name: 'fast', description: 'short questions' },
      { keysFrom: ['AWS_ACCESS_KEY_ID'] },
    ]);
  });

  test('without a config the model of a key of the environment is the main one', async () => {
    await using dir = await tempDir();
    const cli = new FakeCli(dir.path);
    cli.env = { DEEPSEEK_API_KEY: KEY };
    const { stdout } = await cli.run('models', 'list');
    expect(stdout).toMatch(/✓ main +deepseek\/deepseek-flash +openai-chat +1M +0\.3 \/ 1\.2 +from DEEPSEEK_API_KEY/);
  });

  test('with nothing at all it says what the daemon would do', async () => {
    await using dir = await tempDir();
    const { code, stdout, stderr } = await new FakeCli(dir.path).run('models', 'list');
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('no model is configured');
    const spare = await (await configured(dir.path, { fallback_models: [{ provider: 'ollama' }] })).run('models', 'list');
    expect(spare.stderr).not.toContain('main');
    const cli = await configured(dir.path, { fallback_models: [{ provider: 'ollama' }] });
    cli.env = {};
    cli.logins.clear();
    expect((await cli.run('models', 'list')).stderr).toContain('begins with fallback-1');
  });

  test('A29 control characters of the config cannot drive the terminal', async () => {
    await using dir = await tempDir();
    const cli = await configured(dir.path, {
      provider: 'openrouter',
      model: 'a\u001b[2Jb',
      fallback_models: [{ provider: '\u0007x\u009b' }],
    });
    const { stdout } = await cli.run('models', 'list');
    expect(stdout).toContain('openrouter/a\\u001b[2Jb');
    for (const control of ['\u0007', '\u001b', '\u009b']) expect(stdout).not.toContain(control);
  });
});

describe('models test', () => {
  const usage = { tokensIn: 1_000, tokensOut: 10, tokensCached: 0 };

  test('calls each model once and shows time, tokens and cost', async () => {
    await using dir = await tempDir();
    const cli = await configured(dir.path, {
      provider: 'anthropic',
      fallback_models: [{ provider: 'ollama' }, { provider: 'anthropic', model: 'unheard-of' }],
    });
    const main = scriptedModel([
      { text: 'ok', usage },
      { text: 'ok', usage },
    ]);
    cli.models.set('anthropic/claude-sonnet-5-5', main);
    cli.models.set('ollama/llama3.2', scriptedModel([{ text: 'ok', usage }]));
    cli.models.set('anthropic/unheard-of', scriptedModel([{ text: 'ok', usage }]));
    const { code, stdout, stderr } = await cli.run('models', 'test');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/✓ main +anthropic\/claude-sonnet-5-5 +0 ms +1000 tokens in, 10 out, 0\.0021 USD/);
    expect(stdout).toMatch(/✓ fallback-1 +ollama\/llama3\.2 +0 ms +1000 tokens in, 10 out, free/);
    expect(stdout).toMatch(/✓ fallback-2 +anthropic\/unheard-of .*price unknown/);
    expect(main.requests).toHaveLength(1);
    expect(main.requests[0]).toMatchObject({ tools: [], context: { purpose: 'test' } });
    expect(cli.apiKeys).toEqual([KEY, undefined, KEY]);
    expect([cli.opened, cli.spent]).toEqual([[], []]);
    await cli.haveJournal();
    const one = JSON.parse((await cli.run('models', 'test', 'main', '--json')).stdout) as unknown;
    expect(one).toMatchObject({
      ok: true,
      models: [{ name: 'main', ok: true, tokensIn: 1_000, tokensOut: 10, costUsd: 0.0021 }],
    });
    expect(cli.spent).toMatchObject([
      { provider: 'anthropic', tokensIn: 1_000, costUsd: 0.0021, channel: 'cli', purpose: 'test' },
    ]);
  });

  test('a failure is shown with code and hint, ends with exit code 1, and hides no other', async () => {
    await using dir = await tempDir();
    const cli = await configured(dir.path);
    const failure = createFailure('auth', { message: 'anthropic answered 401', status: 401 });
    const refusing = () => scriptedModel(() => ({ fail: failure }));
    cli.models.set('anthropic/claude-sonnet-5-5', refusing());
    cli.models.set(
      'ollama/qwen3:4b',
      scriptedModel(() => ({ text: 'ok', usage })),
    );
    cli.models.set(
      'gemini/gemini-3.8-flash',
      scriptedModel(() => ({ events: [] })),
    );
    cli.models.set(
      'groq/openai/gpt-oss-120b',
      scriptedModel(() => ({ text: 'ok', usage })),
    );
    const { code, stdout, stderr } = await cli.run('models', 'test');
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /✗ main .* GH2101 anthropic answered 401 {2}→ set the right one with `gatehouse auth set-key PROVIDER`/,
    );
    expect(stdout).toMatch(/✗ fallback-1 .* - +GH1103 MY_OPENAI is not set/);
    expect(stdout).toMatch(/✓ fallback-2 /);
    expect(stdout).toMatch(/✗ fallback-4 .* GH2108/);
    expect(stderr).toContain('✗ GH2101 4 of 6 models failed');
    const json = JSON.parse((await cli.run('models', 'test', 'anthropic/claude-sonnet-5-5', '--json')).stdout) as unknown;
    expect(json).toMatchObject({
      ok: false,
      error: { code: 'GH2101' },
      models: [{ name: 'main', ok: false, error: { code: 'GH2101' } }],
    });
  });

  test('of several keys each is tried, and the row of a refused one names its variable', async () => {
    await using dir = await tempDir();
    const env = { KEY_A: 'canary-a', KEY_B: 'canary-b' };
    const cli = new FakeCli(dir.path);
    cli.env = env;
    await cli.write('.gatehouse/config.json', JSON.stringify({ provider: 'openai', api_key_envs: Object.keys(env) }));
    const failure = createFailure('auth', { message: 'openai answered with status 401', status: 401 });
    let calls = 0;
    cli.models.set(
      'openai/gpt-6.1-terra',
      scriptedModel(() => (calls++ === 0 ? { fail: failure } : { text: 'ok', usage })),
    );
    const { code, stdout, stderr } = await cli.run('models', 'test');
    expect([code, calls]).toEqual([1, 2]);
    expect(stdout).toMatch(/✗ main with KEY_A .* GH2101/);
    expect(stdout).toMatch(/✓ main with KEY_B .* tokens in/);
    expect(stderr).toContain('1 of 2 models and keys failed');
    expect(stdout + stderr).not.toContain('canary');
  });

  test('an unknown name is refused with what was meant, and nothing at all with exit code 78', async () => {
    await using dir = await tempDir();
    const cli = await configured(dir.path);
    const wrong = await cli.run('models', 'test', 'fallbcak-4');
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean fallback-4?') });
    const empty = new FakeCli(join(dir.path, 'empty'));
    expect(await empty.run('models', 'test')).toMatchObject({ code: 78, stderr: expect.stringContaining('GH1104') });
  });

  test('the real program makes a real call, and neither output nor errors hold the key', async () => {
    await using dir = await tempDir();
    await using aimock = await startAimock({ fixtures: [{ match: { userMessage: 'ok' }, response: { content: 'ok' } }] });
    const config = {
      model: 'm',
      base_url: `${aimock.url}/v1`,
      api_key_env: 'MY_KEY',
      fallback_models: [{ provider: 'openai', model: 'gpt-4o', base_url: 'http://127.0.0.1:19/v1' }],
    };
    const cli = new FakeCli(dir.path);
    const file = await cli.write('c.json', JSON.stringify(config));
    const env = { PATH: process.env['PATH'], HOME: dir.path, MY_KEY: KEY, OPENAI_API_KEY: `${KEY}2` };
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, [MAIN, 'models', 'test', ...args, '--config', file], { cwd: dir.path, env });
    expect((await run('main')).stdout).toMatch(/✓ main +openai-compatible\/m +\d+ ms .*price unknown/);
    expect(await aimock.journal()).toHaveLength(1);
    const failed = (await run().catch((error: unknown) => error)) as { code: number; stdout: string; stderr: string };
    expect(failed.code).toBe(1);
    expect(failed.stdout).toMatch(/✗ fallback-1 .* GH2104 /);
    expect(failed.stdout + failed.stderr).not.toContain('canary');
  });
});

describe('models catalog', () => {
  test('shows providers, models and prices with the dates of the data', async () => {
    await using dir = await tempDir();
    const { code, stdout, stderr } = await new FakeCli(dir.path).run('models', 'catalog');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^gemini, google +gemini-3\.8-flash +GEMINI_API_KEY +https:/m);
    expect(stdout).toMatch(/^azure, azure-openai .* by AZURE_OPENAI_ENDPOINT$/m);
    expect(stdout).toMatch(/^vllm +\(name one\) +VLLM_API_KEY \(optional\) +\(name one\)$/m);
    expect(stdout).toMatch(/^anthropic\/claude-sonnet-5-5 +1M +128k +vision, tools +2 \/ 10$/m);
    expect(stdout).toMatch(/^openai\/gpt-5 +400k +128k +vision, tools +1\.25 \/ 10 +2026-12-11$/m);
    expect(stdout).toMatch(/^openrouter\/moonshotai\/kimi-k3 .* at most 3 \/ 15$/m);
    expect(stdout).toMatch(/^gemini\/gemini-2\.5-pro .* 2026-12-01, then gemini-3\.8-flash$/m);
    expect(stdout).not.toContain('claude-3-opus');
    expect(stdout).toMatch(/models as of \d{4}-\d\d-\d\d; prices in USD per million tokens/);
  });

  test('--provider takes an alias, --json is one document', async () => {
    await using dir = await tempDir();
    const cli = new FakeCli(dir.path);
    const document = JSON.parse((await cli.run('models', 'catalog', '--provider', 'kimi', '--json')).stdout) as {
      models: { provider: string }[];
    };
    expect(document).toMatchObject({ ok: true, providers: [{ name: 'moonshot', aliases: ['kimi'], wire: 'openai-chat' }] });
    expect(document.models.length).toBeGreaterThan(2);
    expect(new Set(document.models.map(({ provider }) => provider))).toEqual(new Set(['moonshot']));
    expect(document.models[0]).toMatchObject({
      model: 'kimi-k2.6',
      contextWindow: 262_144,
      maxOutputTokens: 262_144,
      ends: null,
    });
    const wrong = await cli.run('models', 'catalog', '--provider', 'antropic');
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean anthropic?') });
  });

  test('--updates shows what changed since the catalog before', async () => {
    await using dir = await tempDir();
    const cli = new FakeCli(dir.path);
    const { code, stdout } = await cli.run('models', 'catalog', '--updates', '--json');
    const updates = JSON.parse(stdout) as { previousUpdatedAt: string; catalogUpdatedAt: string; added: string[] };
    expect([code, updates.previousUpdatedAt === updates.catalogUpdatedAt]).toEqual([0, false]);
    expect((await cli.run('models', 'catalog', '--updates')).stdout).toMatch(/^prices that changed, in \/ out: \d+$/m);
  });

  test('a price, an end and a model that is new or gone are each told once', () => {
    const previous = {
      'deepseek/deepseek-flash': [9, 9],
      'deepseek/deepseek-chat': [0.27, 1.1],
      'deepseek/lost': [1, 2],
    } as const;
    expect(compare(previous, new Set(['deepseek']))).toEqual({
      prices: [
        { model: 'deepseek/deepseek-chat', from: '0.27 / 1.1', to: 'unknown' },
        { model: 'deepseek/deepseek-flash', from: '9 / 9', to: '0.3 / 1.2' },
      ],
      ending: [{ model: 'deepseek/deepseek-chat', ends: '2026-07-24', replacement: 'deepseek-flash' }],
      added: ['deepseek/deepseek-v4-flash', 'deepseek/deepseek-v4-flash-vision-exp', 'deepseek/deepseek-v4-pro'],
      gone: ['deepseek/lost'],
    });
  });
});

/** A table without regard to the width of its columns. */
function columns(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
}
