import { describe, expect, test } from 'vitest';
import { CATALOG_AS_OF, DEFAULT_MODELS, findRow } from '../llm/catalog/catalog.ts';
import { resolveProvider } from '../llm/providers/resolve.ts';
import { catalogProblems, modelWarnings } from './catalog-warnings.ts';

const DAY_MS = 86_400_000;
const daysAfter = (day: string, days: number): number => Date.parse(day) + days * DAY_MS;
const healthy = { asOf: '2026-11-10', defaults: { anthropic: 'claude-sonnet-5-5' } };

describe('catalog:check', () => {
  test('an older file than 60 days is a problem, one of 60 days is none', () => {
    expect(catalogProblems(daysAfter('2026-11-10', 60), [], healthy)).toEqual([]);
    expect(catalogProblems(daysAfter('2026-11-10', 61), [], healthy)).toEqual([
      'the model catalog is 61 days old (2026-11-10): prices may have changed; update gatehouse',
    ]);
  });

  test('a default that ends within 30 days is a problem, a day earlier it is none', () => {
    const about = { asOf: '2026-11-10', defaults: { openai: 'gpt-5', gemini: 'gemini-2.5-pro' } };
    expect(catalogProblems(daysAfter('2026-12-11', -31), [], about)).toEqual([
      'gemini/gemini-2.5-pro ends on 2026-12-01; the provider names gemini-3.8-flash in its place',
    ]);
    expect(catalogProblems(daysAfter('2026-12-11', -30), [], about)).toContain('openai/gpt-5 ends on 2026-12-11');
    expect(catalogProblems(daysAfter('2026-12-11', 1), [], about)).toContain('openai/gpt-5 ended on 2026-12-11');
  });

  test('an override is good until the end of its last day', () => {
    const limited = [{ name: 'gemini/gemini-3.8-flash', validUntil: '2026-12-31' }];
    expect(catalogProblems(daysAfter('2026-12-31', 0.9), limited, { ...healthy, asOf: '2026-12-30' })).toEqual([]);
    expect(catalogProblems(daysAfter('2026-12-31', 1), limited, { ...healthy, asOf: '2026-12-30' })).toEqual([
      'the override of gemini/gemini-3.8-flash was valid until 2026-12-31',
    ]);
  });

  test('the shipped file had none on the day on which its defaults were chosen', () => {
    expect(catalogProblems(Date.parse('2026-11-22'), [], { asOf: CATALOG_AS_OF, defaults: DEFAULT_MODELS })).toEqual([]);
    for (const [provider, model] of Object.entries(DEFAULT_MODELS)) {
      const { ends = '2100-01-01' } = findRow(provider, model) ?? {};
      expect(Date.parse(ends), `${provider}/${model}`).toBeGreaterThan(daysAfter('2026-11-22', 60));
    }
  });
});

describe('warnings of a start', () => {
  const target = (provider: string, model: string, base_url?: string) =>
    resolveProvider({ provider, model, ...(base_url ? { base_url } : {}) });

  test('a model that ends, and one whose price is not known, are told of', () => {
    const targets = [
      target('openai', 'gpt-5'),
      target('openai-compatible', 'mystery', 'https://models.example/v1'),
      target('anthropic', 'claude-sonnet-5-5'),
    ];
    expect(modelWarnings(targets, Date.parse('2026-11-22'), {}, '2026-11-10')).toEqual([
      'openai/gpt-5 ends on 2026-12-11',
      'the price of openai-compatible/mystery is not known: every call will be refused under a limit; set model_hints.price in the config',
    ]);
  });

  test('a model that stands in two places is told of once', () => {
    const targets = [target('openai', 'gpt-5'), target('openai', 'gpt-5')];
    expect(modelWarnings(targets, Date.parse('2026-11-22'), {}, '2026-11-10')).toEqual(['openai/gpt-5 ends on 2026-12-11']);
  });

  test('where unknown prices are allowed, no call is said to be refused', () => {
    const targets = [target('openai-compatible', 'mystery', 'https://models.example/v1')];
    expect(modelWarnings(targets, Date.parse('2026-11-22'), { allowUnknownPrice: true }, '2026-11-10')).toEqual([
      'the price of openai-compatible/mystery is not known: no limit counts its calls; set model_hints.price in the config',
    ]);
  });

  test('an old catalog is told of once, and not where no model is in use', () => {
    const targets = [target('anthropic', 'claude-sonnet-5-5'), target('anthropic', 'claude-opus-5-5')];
    expect(modelWarnings(targets, daysAfter('2026-11-10', 90), {}, '2026-11-10')).toEqual([
      expect.stringContaining('90 days old'),
    ]);
    expect(modelWarnings([], daysAfter('2026-11-10', 90), {}, '2026-11-10')).toEqual([]);
  });
});
