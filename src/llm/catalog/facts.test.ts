import { describe, expect, test } from 'vitest';
import { findProvider, PROVIDERS } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import { CATALOG_AS_OF, catalogRows, DEFAULT_MODELS, findRow } from './catalog.ts';
import { factsOf } from './facts.ts';

function provider(name: string): Provider {
  const found = findProvider(name);
  if (!found) throw new Error(`no provider ${name}`);
  return found;
}
const facts = (name: string, model: string) => factsOf(provider(name), model);

describe('context window', () => {
  test.each([
    ['anthropic', 'claude-sonnet-5-5', 1_000_000],
    ['anthropic', 'claude-haiku-4-5-20251001', 200_000],
    ['openrouter', 'anthropic/claude-sonnet-5.5', 1_000_000],
    ['openai', 'gpt-6.1-terra', 1_050_000], // an override: the first source stops at the border of the price
    ['openai', 'GPT-4o', 128_000],
    ['zai', 'glm-5-turbo', 200_000],
    ['zhipu', 'glm-5.3', 1_000_000],
    ['moonshot', 'kimi-k2.6', 262_144],
    ['minimax', 'MiniMax-M3', 1_000_000],
    ['ollama', 'gpt-4o', 8_192], // the server cuts, whatever the model could
    ['openai-compatible', 'unheard-of', 128_000],
    ['anthropic', 'claude-haiku-9', 200_000], // not listed: the smallest of its family
    ['anthropic', 'claude-sonnet-4-20250514', 200_000], // listed only as retired
  ])('%s/%s takes %d', (name, model, window) => {
    expect(facts(name, model).contextWindow).toBe(window);
  });
});

describe('output', () => {
  test('a known model puts out what the catalog says, an unknown one 8192', () => {
    expect(facts('openai', 'gpt-4o').maxOutputTokens).toBe(16_384);
    expect(facts('openai', 'gpt-9').maxOutputTokens).toBe(8_192);
    expect(facts('moonshot', 'kimi-k2.6').maxOutputTokens).toBe(262_144);
  });
});

describe('vision, tools, thinking', () => {
  test.each([
    ['anthropic', 'claude-sonnet-5-5', true],
    ['openrouter', 'anthropic/claude-haiku-4.5', true],
    ['openai', 'gpt-4o-mini', true],
    ['openai', 'gpt-4', false],
    ['gemini', 'gemini-3.8-flash', true],
    ['deepseek', 'deepseek-flash', true],
    ['deepseek', 'deepseek-v4-pro', false],
    ['groq', 'openai/gpt-oss-120b', false],
    ['groq', 'qwen/qwen3.8-27b', true],
    ['ollama', 'llama3.2-vision', true],
    ['ollama', 'gemma3:4b', true],
    ['ollama', 'gemma3:1b', false],
    ['dashscope', 'qwen-vl-max', true],
    ['openai-compatible', 'unheard-of', false],
  ])('%s/%s sees: %s', (name, model, sees) => {
    expect(facts(name, model).vision).toBe(sees);
  });

  test.each([
    ['openai', 'gpt-4o', true],
    ['openai', 'o1-mini', false],
    ['openai', 'text-embedding-3-small', false],
    ['ollama', 'qwen3:4b', true],
    ['ollama', 'gemma3:4b', false],
    ['openai-compatible', 'unheard-of', true],
  ])('%s/%s calls tools: %s', (name, model, calls) => {
    expect(facts(name, model).tools).toBe(calls);
  });

  test('levels are in the words of the provider; a model without thinking has none, an unknown one says nothing', () => {
    expect(facts('openai', 'gpt-6.1-terra').thinking).toEqual(['none', 'low', 'medium', 'high', 'xhigh', 'max']);
    expect(facts('anthropic', 'claude-opus-5-5').thinking).toEqual(['low', 'medium', 'high', 'xhigh', 'max']);
    expect(facts('gemini', 'gemini-3.8-flash').thinking).toEqual(['low', 'medium', 'high']);
    expect(facts('openai', 'gpt-4o').thinking).toEqual([]);
    expect(facts('openai', 'gpt-9').thinking).toBeUndefined();
  });
});

describe('the data', () => {
  test('is dated, and every row has a window or the day on which its model ended', () => {
    expect(CATALOG_AS_OF).toMatch(/^\d{4}-\d\d-\d\d$/);
    for (const { name } of PROVIDERS) {
      for (const [model, row] of catalogRows(name)) {
        expect(row.window ?? row.ends, `${name}/${model}`).toBeDefined();
        expect(row.ends ?? '2000-01-01', `${name}/${model}`).toMatch(/^20\d\d-\d\d-\d\d$/);
        if (row.window) expect(row.output ?? 1, `${name}/${model}`).toBeLessThanOrEqual(row.window);
        if (row.price) expect(Math.min(row.price.in, row.price.out), `${name}/${model}`).toBeGreaterThan(0);
      }
    }
  });

  test('a model that replaces another one is listed and is not replaced itself', () => {
    for (const { name } of PROVIDERS) {
      for (const [model, { replacement }] of catalogRows(name)) {
        if (replacement === undefined) continue;
        const next = findRow(name, replacement);
        expect(next?.window, `${name}/${model} -> ${replacement}`).toBeDefined();
        expect(next?.replacement, `${name}/${model} -> ${replacement}`).toBeUndefined();
      }
    }
  });

  test('a key of each provider starts on a model that is listed, has a price, and lasts 60 days from the day it was chosen', () => {
    const chosen = Date.parse('2026-11-22');
    // Ollama has what was pulled into it; servers of the operator have no default.
    const keyed = PROVIDERS.filter(({ keyEnv, baseUrl }) => keyEnv && baseUrl);
    for (const { name } of keyed) {
      const model = DEFAULT_MODELS[name];
      expect(model, name).toBeDefined();
      const row = findRow(name, model ?? '');
      expect(row, name).toMatchObject({ window: expect.any(Number), price: { in: expect.any(Number) } });
      expect(Date.parse(row?.ends ?? '2100-01-01') - chosen, name).toBeGreaterThan(60 * 86_400_000);
    }
    expect(keyed.length).toBeGreaterThan(10);
  });

  test('providers that are not in the registry yet have defaults that are listed as well', () => {
    const unlisted = Object.entries(DEFAULT_MODELS).filter(([name, model]) => !findRow(name, model)?.price);
    expect(unlisted).toEqual([['ollama', 'llama3.2']]);
  });
});
