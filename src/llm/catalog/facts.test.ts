import { describe, expect, test } from 'vitest';
import { findProvider, PROVIDERS } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import { CATALOG_UPDATED_AT, catalogModels, findInCatalog } from './catalog.ts';
import { factsOf, requestedOutputTokens } from './facts.ts';

function provider(name: string): Provider {
  const found = findProvider(name);
  if (!found) throw new Error(`no provider ${name}`);
  return found;
}
const facts = (name: string, model: string) => factsOf(provider(name), model);

describe('context window', () => {
  test.each([
    ['anthropic', 'claude-sonnet-4-20250514', 200_000],
    ['openrouter', 'anthropic/claude-sonnet-4.5', 200_000], // the reseller's spelling finds the maker's entry
    ['openai', 'gpt-4', 8_192], // listed, in spite of its family
    ['openai', 'gpt-4-0613', 8_192],
    ['openai', 'GPT-4o', 128_000],
    ['openai', 'gpt-4.1-2026-01-01', 1_047_576], // by family
    ['openai', 'gpt-5-chat-latest', 128_000],
    ['zai', 'glm-4.6', 200_000], // the entry of this provider
    ['zhipu', 'glm-4.6', 200_000], // by the bare name
    ['zhipu', 'glm-4-air', 128_000],
    ['moonshot', 'moonshot-v1-8k', 8_192],
    ['minimax', 'MiniMax-Text-01', 1_000_000],
    ['dashscope', 'qwen-max-latest', 32_768],
    ['nvidia', 'meta/llama-3.3-70b-instruct', 128_000],
    ['ollama', 'gpt-4o', 8_192], // the server cuts, whatever the model could
    ['openai-compatible', 'unheard-of', 128_000],
  ])('%s/%s takes %d', (name, model, window) => {
    expect(facts(name, model).contextWindow).toBe(window);
  });
});

describe('output', () => {
  test('a known model puts out what the catalog says, an unknown one 8192', () => {
    expect(facts('openai', 'gpt-4o').maxOutputTokens).toBe(16_384);
    expect(facts('openai', 'gpt-9').maxOutputTokens).toBe(8_192);
    expect(facts('moonshot', 'kimi-k2.5').maxOutputTokens).toBe(8_192);
  });

  test.each([
    ['openai', 'gpt-4o', undefined, 16_384],
    ['openai', 'gpt-4o', 1_000, 1_000],
    ['openai', 'gpt-4o', 99_000, 16_384],
    ['openai', 'gpt-9', undefined, 4_096],
    ['openai', 'gpt-9', 20_000, 20_000],
    ['openai', 'gpt-4', undefined, 4_096], // half of 8192: the other half is for the question
    ['ollama', 'qwen3', undefined, 4_096],
  ])('%s/%s with %s in the config is asked for %d', (name, model, configured, expected) => {
    expect(requestedOutputTokens(provider(name), model, { configured })).toBe(expected);
  });

  test('a hint counts as known', () => {
    expect(requestedOutputTokens(provider('openai'), 'gpt-9', { hints: { maxOutputTokens: 7_000 } })).toBe(7_000);
  });
});

describe('vision and tools', () => {
  test.each([
    ['anthropic', 'claude-sonnet-4-20250514', true],
    ['openrouter', 'anthropic/claude-3-haiku', true],
    ['openai', 'gpt-4o-mini', true],
    ['openai', 'gpt-4', false],
    ['openai', 'gpt-3.5-turbo', false],
    ['openai', 'gpt-4o-audio-preview', false],
    ['openai', 'o3', true],
    ['openai', 'o3-mini', false],
    ['gemini', 'gemini-2.5-flash', true],
    ['deepseek', 'deepseek-chat', false],
    ['dashscope', 'qwen-vl-max', true],
    ['dashscope', 'qwen-max', false],
    ['groq', 'meta-llama/llama-4-scout-17b-16e-instruct', true],
    ['groq', 'llama-3.3-70b-versatile', false],
    ['moonshot', 'kimi-k2.5', true],
    ['moonshot', 'kimi-k2', false],
    ['ollama', 'llama3.2-vision', true],
    ['ollama', 'gemma3:1b', false],
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
});

describe('the data', () => {
  test('is dated, and every entry is complete and of a known provider', () => {
    expect(CATALOG_UPDATED_AT).toMatch(/^\d{4}-\d\d-\d\d$/);
    const names = new Set(PROVIDERS.map(({ name }) => name));
    for (const entry of catalogModels()) {
      expect(names.has(entry.provider), entry.id).toBe(true);
      expect(entry.contextWindow, entry.id).toBeGreaterThanOrEqual(4_096);
      expect(entry.maxOutputTokens ?? 1, entry.id).toBeLessThanOrEqual(entry.contextWindow);
      expect(findInCatalog(entry.provider, entry.model), entry.id).toBe(entry);
    }
  });

  test('lists every default model of the registry but that of ollama, which cuts it', () => {
    const missing = PROVIDERS.filter(({ name, defaultModel }) => defaultModel && !findInCatalog(name, defaultModel));
    expect(missing.map(({ name }) => name)).toEqual(['ollama']);
  });
});
