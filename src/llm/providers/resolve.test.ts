import { describe, expect, test } from 'vitest';
import { resolveKey } from './key.ts';
import { type ModelConfig, resolveProvider } from './resolve.ts';

const KEY = 'sk-canary-7f3a9c51d2e8b604';
const LOCAL = 'http://127.0.0.1:1/v1';

describe('provider and model', () => {
  test.each<[ModelConfig, string, string]>([
    [{ model: 'claude-opus-4-1' }, 'anthropic', 'claude-opus-4-1'],
    [{ model: 'Claude-3-Haiku' }, 'anthropic', 'Claude-3-Haiku'],
    [{ model: 'gpt-4o' }, 'openai', 'gpt-4o'],
    [{ model: 'o1' }, 'openai', 'o1'],
    [{ model: 'o3-mini' }, 'openai', 'o3-mini'],
    [{ model: 'o4-mini' }, 'openai', 'o4-mini'],
    [{ model: 'gemini-2.5-pro' }, 'gemini', 'gemini-2.5-pro'],
    [{ model: 'deepseek-r1-distill-llama-70b' }, 'deepseek', 'deepseek-r1-distill-llama-70b'],
    [{ model: 'llama-3.1-8b-instant' }, 'groq', 'llama-3.1-8b-instant'],
    [{ model: 'mixtral-8x7b' }, 'groq', 'mixtral-8x7b'],
    [{ model: 'kimi-k2' }, 'moonshot', 'kimi-k2'],
    [{ model: 'moonshot-v1-8k' }, 'moonshot', 'moonshot-v1-8k'],
    [{ model: 'qwen-plus' }, 'dashscope', 'qwen-plus'],
    [{ model: 'MiniMax-M2' }, 'minimax', 'MiniMax-M2'],
    [{ model: 'glm-4.6' }, 'zhipu', 'glm-4.6'],
    [{ model: 'ollama/qwen3:4b' }, 'ollama', 'qwen3:4b'],
    [{ model: 'z.ai/glm-5' }, 'zai', 'glm-5'],
    [{ model: 'anthropic/claude-sonnet-4' }, 'anthropic', 'claude-sonnet-4'],
    [{ provider: 'openrouter', model: 'anthropic/claude-sonnet-4' }, 'openrouter', 'anthropic/claude-sonnet-4'],
    [{ provider: 'KIMI' }, 'moonshot', 'kimi-k2.6'],
    [{ provider: 'qwen' }, 'dashscope', 'qwen3.8-flash'],
    [{ provider: 'google' }, 'gemini', 'gemini-3.8-flash'],
    [{ base_url: LOCAL, model: 'gpt-4o' }, 'openai-compatible', 'gpt-4o'],
  ])('%o is %s with %s', (config, provider, model) => {
    const resolved = resolveProvider(config);
    expect([resolved.provider.name, resolved.model]).toEqual([provider, model]);
  });

  test.each<[ModelConfig, string]>([
    [{}, 'GH1101'],
    [{ provider: 'vllm', base_url: 'http://127.0.0.1:1' }, 'GH1101'],
    [{ provider: 'vllm', model: 'm' }, 'GH1101'],
    [{ provider: 'openai', base_url: 'ftp://x' }, 'GH1101'],
    [{ provider: 'gemini', api_type: 'anthropic' }, 'GH1101'],
    [{ provider: 'deepseek', api_type: 'responses' }, 'GH1101'],
    [{ provider: 'nobody' }, 'GH1104'],
    [{ model: 'unheard-of' }, 'GH1104'],
    // OpenAI does not serve it, whoever else may.
    [{ model: 'gpt-oss-120b' }, 'GH1104'],
  ])('%o is refused with %s', (config, code) => {
    expect(() => resolveProvider(config)).toThrow(expect.objectContaining({ code }));
  });

  test('A29 a password in base_url is refused without repeating it', () => {
    const config = { provider: 'openai', base_url: `http://user:${KEY}@127.0.0.1/v1` };
    expect(() => resolveProvider(config)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('canary') }));
  });
});

describe('wire and address', () => {
  test.each<[ModelConfig, string, string]>([
    [{ provider: 'openai', model: 'gpt-4o' }, 'openai-chat', 'https://api.openai.com/v1'],
    [{ provider: 'openai', model: 'gpt-5-mini' }, 'openai-responses', 'https://api.openai.com/v1'],
    [{ provider: 'openai', model: 'o3' }, 'openai-responses', 'https://api.openai.com/v1'],
    [{ provider: 'openai', model: 'gpt-5', api_type: 'openai' }, 'openai-chat', 'https://api.openai.com/v1'],
    [{ provider: 'openai', model: 'gpt-4o', api_type: 'responses' }, 'openai-responses', 'https://api.openai.com/v1'],
    // Only OpenAI itself is known to speak Responses: elsewhere a name like its models' proves nothing.
    [{ provider: 'openrouter', model: 'openai/gpt-5' }, 'openai-chat', 'https://openrouter.ai/api/v1'],
    [{ base_url: LOCAL, model: 'gpt-5' }, 'openai-chat', LOCAL],
    [{ provider: 'r9s' }, 'anthropic', 'https://api.r9s.ai'],
    [{ provider: 'r9s', model: 'gpt-4o' }, 'openai-chat', 'https://api.r9s.ai/v1'],
    [{ provider: 'r9s', model: 'claude-sonnet-4-6', api_type: 'openai' }, 'openai-chat', 'https://api.r9s.ai/v1'],
    [{ provider: 'r9s', model: 'glm-5', api_type: 'anthropic' }, 'anthropic', 'https://api.r9s.ai'],
    [{ provider: 'zai' }, 'anthropic', 'https://api.z.ai/api/anthropic'],
    [{ provider: 'anthropic', base_url: 'http://127.0.0.1:1/v1/' }, 'anthropic', 'http://127.0.0.1:1'],
    [{ base_url: 'http://127.0.0.1:1/', model: 'm', api_type: 'anthropic' }, 'anthropic', 'http://127.0.0.1:1'],
    [
      { provider: 'deepseek', base_url: 'https://api.deepseek.com/anthropic', api_type: 'anthropic' },
      'anthropic',
      'https://api.deepseek.com/anthropic',
    ],
    [{ provider: 'gemini' }, 'gemini', 'https://generativelanguage.googleapis.com/v1beta'],
    [{ provider: 'gemini', base_url: 'http://127.0.0.1:1' }, 'gemini', 'http://127.0.0.1:1/v1beta'],
    [{ provider: 'gemini', base_url: 'http://127.0.0.1:1/v1' }, 'gemini', LOCAL],
  ])('%o speaks %s at %s', (config, wire, baseUrl) => {
    const resolved = resolveProvider(config);
    expect([resolved.wire, resolved.baseUrl]).toEqual([wire, baseUrl]);
  });

  test('model_hints win over everything that is known', () => {
    const price = { in: 1, out: 2, cached: 0.5, cacheWrite: 1.25 };
    const stated = { in: 1, out: 2, cached: 0.5, cache_write: 1.25 };
    const model_hints = { context_window: 5_000, max_output_tokens: 600, vision: false, tools: false, price: stated };
    expect(resolveProvider({ provider: 'openai', model: 'gpt-4o', model_hints })).toMatchObject({
      contextWindow: 5_000,
      facts: { maxOutputTokens: 600, vision: false, tools: false, price },
    });
    expect(resolveProvider({ provider: 'ollama', model_hints: { context_window: 32_768 } }).contextWindow).toBe(32_768);
  });
});

describe('F2 the key', () => {
  const from = async (config: ModelConfig, env: Record<string, string>, stored?: string) => {
    const found = await resolveKey(resolveProvider(config), {
      env,
      ...(stored === undefined ? {} : { storedKey: async () => stored }),
    });
    return found && [found.from, found.value()];
  };

  test('comes from the stored login, else api_key_env, else the variable of the registry, else {PROVIDER}_API_KEY', async () => {
    const config = { provider: 'openai', api_key_env: 'MINE' };
    const env = { MINE: 'a', OPENAI_API_KEY: 'b' };
    expect(await from(config, env, 'stored')).toEqual(['login', 'stored']);
    expect(await from(config, env)).toEqual(['MINE', 'a']);
    expect(await from(config, { ...env, MINE: '  ' })).toEqual(['OPENAI_API_KEY', 'b']);
    expect(await from({ base_url: LOCAL, model: 'm' }, { OPENAI_COMPATIBLE_API_KEY: 'c' })).toEqual([
      'OPENAI_COMPATIBLE_API_KEY',
      'c',
    ]);
  });

  test('is missing with an error that names the variable, though not for servers that need none', async () => {
    await expect(from({ provider: 'zai' }, {})).rejects.toMatchObject({ code: 'GH1103', hint: 'export ZAI_API_KEY=…' });
    await expect(from({ provider: 'zai', api_key_env: 'MINE' }, {})).rejects.toMatchObject({ hint: 'export MINE=…' });
    expect(await from({ provider: 'ollama' }, {})).toBeUndefined();
    expect(await from({ provider: 'vllm', model: 'm', base_url: LOCAL }, {})).toBeUndefined();
  });

  test("A29 neither login nor the provider's variable goes to another address that has a key of its own", async () => {
    const config = { provider: 'openai', base_url: LOCAL, api_key_env: 'PROXY_KEY' };
    expect(await from(config, { PROXY_KEY: 'p', OPENAI_API_KEY: KEY }, KEY)).toEqual(['PROXY_KEY', 'p']);
    await expect(from(config, { OPENAI_API_KEY: KEY }, KEY)).rejects.toMatchObject({ code: 'GH1103' });
  });

  test('A29 a login is for the own address of its provider alone, also where the config names no variable', async () => {
    const config = { provider: 'openai', base_url: 'https://models.example.org/v1' };
    expect(await from(config, { OPENAI_API_KEY: KEY }, 'login-token')).toEqual(['OPENAI_API_KEY', KEY]);
    await expect(from(config, {}, 'login-token')).rejects.toMatchObject({ code: 'GH1103' });
    for (const own of [{ provider: 'openai' }, { provider: 'openai', base_url: LOCAL }]) {
      expect(await from(own, { OPENAI_API_KEY: KEY }, 'login-token')).toEqual(['login', 'login-token']);
    }
  });

  test('is not shown when what was found is printed', async () => {
    const found = await resolveKey(resolveProvider({ provider: 'zai' }), { env: { ZAI_API_KEY: KEY } });
    expect(JSON.stringify(found)).toBe('{"from":"ZAI_API_KEY"}');
  });
});
