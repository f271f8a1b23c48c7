import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROVIDERS } from '../providers/index.ts';
import { isLoopback, priceOf } from './price.ts';
import data from './prices.json' with { type: 'json' };

/** The price table of spec B1, in its order: names that must hit a row, its price. */
const ROWS: readonly (readonly [readonly string[], number, number])[] = [
  [['claude-opus-4', 'claude-opus-4-20250514', 'anthropic/claude-opus-4.1'], 15, 75],
  [['claude-sonnet-4-20250514', 'claude-3-5-sonnet-20241022', 'anthropic/claude-3.5-sonnet'], 3, 15],
  [['claude-3-5-haiku-latest', 'claude-3-haiku-20240307', 'anthropic/claude-haiku-4.5'], 0.8, 4],
  [['gpt-4o-mini', 'openai/gpt-4o-mini-2024-07-18'], 0.15, 0.6],
  [['gpt-4o', 'chatgpt-4o-latest'], 2.5, 10],
  [['o3', 'o3-mini', 'o4-mini', 'openai/o3'], 10, 40],
  [['gemini-2.5-flash', 'gemini-2.0-pro', 'google/gemini-1.5-pro'], 0.075, 0.3],
  [['deepseek-r1', 'deepseek-r1-distill-llama-70b'], 0.55, 2.19],
  [['deepseek-chat', 'deepseek/deepseek-v3'], 0.27, 1.1],
  [['qwen3-coder-plus', 'qwen3-235b-a22b', 'qwen3.5-max'], 0.3, 1.2],
  [['qwen-max', 'qwen3-32b', 'Qwen2.5-VL'], 0.15, 0.6],
  [['llama-3.1-405b-instruct'], 5, 15],
  [['llama-3.3-70b-versatile', 'meta/llama-3.3-70b-instruct', 'Llama-3.1-70B'], 0.4, 1.6],
  [['meta-llama/llama-4-scout-17b-16e-instruct'], 0.3, 1.2],
  [['llama-3.1-8b-instant', 'codellama:13b'], 0.1, 0.4],
  [['mistral-large-2411'], 2, 6],
  [['mistral-small', 'mixtral-8x22b'], 0.2, 0.6],
  [['kimi-k2.5', 'moonshot-v1-8k', 'moonshotai/kimi-k2'], 0.6, 2.4],
  [['kimi-latest'], 0.3, 1.2],
  [['MiniMax-M1', 'minimax-m2'], 0.5, 2],
  [['MiniMax-Text-01'], 0.2, 1.1],
  [['glm-5-turbo'], 0.5, 2],
  [['glm-4-plus', 'z-ai/glm-4.6'], 0.3, 1.2],
  [['nemotron-super-49b', 'nvidia/nemotron-ultra'], 1.5, 5],
];

describe('B1 the price table', () => {
  test.each(ROWS)('%o cost %d in and %d out', (names, input, output) => {
    for (const name of names) expect(priceOf('openrouter', name), name).toEqual({ in: input, out: output });
  });

  test('has these rows in this order and no other', () => {
    expect(data.prices.map((row) => [row.in, row.out])).toEqual(ROWS.map(([, input, output]) => [input, output]));
    expect(data.updated_at).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  test.each([
    ['ollama/llama3.2'], // "ollama" is no llama
    ['ollama/llama3.1:70b'],
    ['gpt-5'],
    ['gpt-4.1'],
    ['o1'],
    ['turbo3'], // prefixes are prefixes
    ['foo-o4'],
    ['gpt-4'],
    ['claude-3-opus-20240229'],
    ['qwq-1.5b'], // 1.5 alone is no gemini
    ['gemini-3-pro'],
    ['grok-4'],
    [''],
  ])('%j is unknown, which is null', (name) => {
    expect(priceOf('openai-compatible', name)).toBeNull();
  });
});

describe('servers of this machine', () => {
  test('ollama and vllm on loopback cost nothing; elsewhere the table decides', () => {
    expect(priceOf('ollama', 'llama3.2')).toEqual({ in: 0, out: 0 });
    expect(priceOf('ollama', 'unheard-of', 'http://[::1]:11434/v1')).toEqual({ in: 0, out: 0 });
    expect(priceOf('vllm', 'qwen3', 'http://127.0.0.1:8000/v1')).toEqual({ in: 0, out: 0 });
    expect(priceOf('ollama', 'llama3.2', 'https://ollama.com/v1')).toEqual({ in: 0.1, out: 0.4 });
    expect(priceOf('ollama', 'unheard-of', 'http://192.168.1.5:11434/v1')).toBeNull();
    expect(priceOf('vllm', 'unheard-of')).toBeNull();
  });

  test('what a local server passes on to a paid service is not free', () => {
    expect(priceOf('ollama', 'gpt-oss:120b-cloud')).toBeNull();
    expect(priceOf('ollama', 'kimi-k2:1t-cloud')).toEqual({ in: 0.6, out: 2.4 });
    expect(priceOf('openai-compatible', 'm', 'http://127.0.0.1:4000/v1')).toBeNull();
    expect(priceOf('openai', 'gpt-4o', 'http://127.0.0.1:4000/v1')).toEqual({ in: 2.5, out: 10 });
  });

  test.each([
    ['http://localhost:1', true],
    ['http://LOCALHOST.:1', true],
    ['http://models.localhost', true],
    ['http://127.8.9.10/v1', true],
    ['http://[::1]/', true],
    ['http://127.0.0.1.evil.example', false],
    ['http://localhost.evil.example', false],
    ['http://notlocalhost', false],
    ['http://10.0.0.1', false],
    ['nonsense', false],
  ])('%s is loopback: %s', (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });
});

test('a model that no row names has no price, and no price is 0 away from this machine', () => {
  const provider = fc.constantFrom(...PROVIDERS.map(({ name }) => name), 'nobody');
  const named = fc.constantFrom(...ROWS.flatMap(([names]) => names));
  const model = fc.oneof(
    fc.string(),
    fc.tuple(fc.string(), named, fc.string()).map((parts) => parts.join('')),
  );
  const remote = fc.constantFrom('https://models.example/v1', 'http://192.168.0.2:11434/v1');
  const parts = data.prices.flatMap((row) => [...(row.any ?? row.all ?? row.prefix ?? [])]);
  fc.assert(
    fc.property(provider, model, remote, (name, text, address) => {
      const price = priceOf(name, text, address);
      if (!parts.some((part) => text.toLowerCase().includes(part))) expect(price).toBeNull();
      if (price) expect(price.in > 0 && price.out > 0).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
