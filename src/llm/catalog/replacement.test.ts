import { describe, expect, test } from 'vitest';
import { catalogRows, DEFAULT_MODELS, familyOf, versionOf } from './catalog.ts';
import { priceOf } from './price.ts';
import { chooseReplacement } from './replacement.ts';

const NOW = Date.parse('2026-11-22');
const choose = (provider: string, gone: string, offered: readonly string[], now = NOW) =>
  chooseReplacement(provider, gone, offered, now);

describe('the replacement of a model', () => {
  test.each([
    ['anthropic', 'claude-sonnet-5-5', ['claude-sonnet-4-6', 'claude-sonnet-5', 'claude-opus-5-5'], 'claude-sonnet-5'],
    // Sonnet 4.6 costs more than what is gone: the cheapest of all.
    ['anthropic', 'claude-sonnet-5-5', ['claude-sonnet-4-6', 'claude-haiku-4-5', 'claude-opus-5-5'], 'claude-haiku-4-5'],
    ['openai', 'gpt-6.1-terra', ['gpt-6-sol', 'gpt-6-luna', 'gpt-5.4-nano', 'gpt-4o-mini'], 'gpt-6-luna'],
    ['moonshot', 'kimi-k2.6', ['kimi-k3', 'kimi-k2.7-code'], 'kimi-k2.7-code'],
    ['groq', 'llama-3.3-70b-versatile', ['openai/gpt-oss-120b', 'openai/gpt-oss-20b', 'whisper-large-v3'], 'openai/gpt-oss-20b'],
  ])('%s/%s of %j is %s', (provider, gone, offered, expected) => {
    expect(choose(provider, gone, offered)).toBe(expected);
  });

  test('is never itself, one that has ended, or one without a row or a price', () => {
    expect(choose('openai', 'gpt-6-luna', ['gpt-6-luna', 'gpt-4.1-nano', 'gpt-99'])).toBeUndefined();
    expect(choose('openai', 'gpt-6-luna', ['gpt-4o-mini'])).toBe('gpt-4o-mini');
    expect(choose('openai', 'gpt-6-luna', ['gpt-4o-mini'], Date.parse('2027-02-01'))).toBeUndefined();
    expect(choose('unknown', 'm', ['m'])).toBeUndefined();
  });

  test('is dearer than the default of no provider, unless nothing of its family is as cheap', () => {
    for (const [provider, gone] of Object.entries(DEFAULT_MODELS)) {
      const offered = catalogRows(provider).map(([id]) => id);
      const next = choose(provider, gone, offered);
      if (next === undefined) continue;
      const [limit, price] = [priceOf(provider, gone, undefined, NOW), priceOf(provider, next, undefined, NOW)];
      const isLike = familyOf(next).join() === familyOf(gone).join();
      const cheapest = Math.min(
        ...catalogRows(provider).flatMap(([id, { price: own, ends = '9' }]) =>
          own && id !== gone && ends > '2026-11-22' ? [own.in + own.out] : [],
        ),
      );
      if (isLike)
        expect((price?.in ?? 9e9) <= (limit?.in ?? 0) || (price?.in ?? 0) + (price?.out ?? 0) === cheapest, next).toBe(true);
      else expect(price).not.toBeNull();
    }
  });
});

test.each([
  ['anthropic/claude-opus-4.5:free', ['claude', 'opus'], [4, 5]],
  ['claude-opus-4-5-20251101', ['claude', 'opus'], [4, 5]],
  ['gpt-4o-2024-11-20', ['gpt'], [4]],
  ['qwen/qwen3.8-27b', ['qwen'], [3, 8, 27]],
  ['MiniMax-M3.1-Flash', ['minimax'], [3, 1]],
  ['mistral-large-latest', ['mistral', 'large'], []],
  ['deepseek-chat', ['deepseek'], []],
  ['o3', ['o'], [3]],
  ['', [], []],
])('%s is of the family %j and version %j', (model, family, version) => {
  expect([familyOf(model), versionOf(model)]).toEqual([family, version]);
});
