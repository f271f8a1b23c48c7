import { expect, test } from 'vitest';
import { DEFAULT_MODELS } from '../catalog/catalog.ts';
import { priceOf } from '../catalog/price.ts';
import { findProvider, PROVIDERS } from './index.ts';
import { resolveProvider } from './resolve.ts';

/** The table of spec B1, with the default models of the catalog. */
const CHAT = 'openai-chat';
const TABLE = [
  ['anthropic', [], 'claude-sonnet-5-5', 'ANTHROPIC_API_KEY', 'https://api.anthropic.com', 'anthropic'],
  ['openai', [], 'gpt-6.1-terra', 'OPENAI_API_KEY', 'https://api.openai.com/v1', 'openai-responses'],
  ['gemini', ['google'], 'gemini-3.8-flash', 'GEMINI_API_KEY', 'https://generativelanguage.googleapis.com/v1beta', 'gemini'],
  ['openrouter', [], 'anthropic/claude-sonnet-5.5', 'OPENROUTER_API_KEY', 'https://openrouter.ai/api/v1', CHAT],
  ['deepseek', [], 'deepseek-flash', 'DEEPSEEK_API_KEY', 'https://api.deepseek.com/v1', CHAT],
  ['groq', [], 'openai/gpt-oss-120b', 'GROQ_API_KEY', 'https://api.groq.com/openai/v1', CHAT],
  ['moonshot', ['kimi'], 'kimi-k2.6', 'MOONSHOT_API_KEY', 'https://api.moonshot.ai/v1', CHAT],
  ['dashscope', ['qwen'], 'qwen3.8-flash', 'DASHSCOPE_API_KEY', 'https://dashscope.aliyuncs.com/compatible-mode/v1', CHAT],
  ['minimax', [], 'MiniMax-M3', 'MINIMAX_API_KEY', 'https://api.minimax.io/v1', CHAT],
  ['zhipu', ['glm'], 'glm-5.3', 'ZHIPU_API_KEY', 'https://open.bigmodel.cn/api/paas/v4', CHAT],
  ['zai', ['z.ai'], 'glm-5.3', 'ZAI_API_KEY', 'https://api.z.ai/api/anthropic', 'anthropic'],
  ['nvidia', ['nim'], 'z-ai/glm-5.3-flash', 'NVIDIA_API_KEY', 'https://integrate.api.nvidia.com/v1', CHAT],
  ['ollama', [], 'llama3.2', undefined, 'http://localhost:11434/v1', CHAT],
  ['vllm', [], undefined, 'VLLM_API_KEY', undefined, CHAT],
  // Its default model speaks the Anthropic wire, whose client adds the version itself.
  ['r9s', ['r9s.ai'], 'claude-sonnet-4-6', 'R9S_API_KEY', 'https://api.r9s.ai/v1', 'anthropic'],
] as const;

test.each(TABLE)('B1 %s', (name, aliases, model, keyEnv, baseUrl, wire) => {
  const provider = findProvider(name);
  expect(provider).toMatchObject({ name, aliases });
  expect([DEFAULT_MODELS[name], provider?.keyEnv, provider?.baseUrl]).toEqual([model, keyEnv, baseUrl]);
  for (const alias of aliases) expect(findProvider(alias.toUpperCase())).toBe(provider);
  if (model === undefined || baseUrl === undefined) return;
  const resolved = resolveProvider({ provider: name });
  expect(resolved).toMatchObject({ model, wire, baseUrl: name === 'r9s' ? 'https://api.r9s.ai' : baseUrl });
  expect(priceOf(name, model), 'the price of the default model is known').not.toBeNull();
});

test('the registry has the order of the table, with the nameless servers last', () => {
  const further = ['xai', 'mistral', 'together', 'fireworks', 'cerebras', 'azure', 'bedrock', 'vertex'];
  expect(PROVIDERS.map((provider) => provider.name)).toEqual([...TABLE.map(([name]) => name), ...further, 'openai-compatible']);
});

test('a key is needed everywhere but at servers of the operator', () => {
  const free = PROVIDERS.filter((provider) => !provider.keyRequired).map((provider) => provider.name);
  expect(free).toEqual(['ollama', 'vllm', 'openai-compatible']);
});

test('names and aliases are unique', () => {
  const names = PROVIDERS.flatMap((provider) => [provider.name, ...provider.aliases]);
  expect(new Set(names).size).toBe(names.length);
});

test.each(['gpt-5', 'gpt-5.6-sol', 'gpt-6.1-terra', 'gpt-6-luna', 'o3', 'o4-mini'])('openai serves %s on Responses', (model) => {
  expect(resolveProvider({ provider: 'openai', model }).wire).toBe('openai-responses');
});

test.each(['gpt-4o', 'gpt-4.1', 'gpt-oss-120b'])('openai serves %s on chat completions', (model) => {
  expect(resolveProvider({ provider: 'openai', model }).wire).toBe('openai-chat');
});
