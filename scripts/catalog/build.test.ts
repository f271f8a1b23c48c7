import { describe, expect, test } from 'vitest';
import overrides from '../../src/llm/catalog/overrides.json' with { type: 'json' };
import { buildModels, type Overrides, type Sources } from './build.ts';
import { parseAnthropicEnds, parseOpenAiEnds } from './lifecycle.ts';
import { toRows } from './primary-rows.ts';
import { priceOn } from './second-source.ts';

const EVIDENCE = { source: 'https://vendor.example/models', date: '2026-11-22', quote: 'as said there' };
const NO_OVERRIDES: Overrides = { rows: [], differences: [] };

function sources(parts: Partial<Sources>): Sources {
  return {
    asOf: '2026-11-10',
    rows: {},
    openAiEnds: {},
    anthropic: { ends: {}, known: new Set() },
    second: () => undefined,
    overrides: NO_OVERRIDES,
    ...parts,
  };
}

describe('a row of the first source', () => {
  const cost = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 0 };
  const row = (more: object) =>
    toRows('openai', { wire: { a: { type: 'chat', id: 'm', contextWindow: 9_000, maxTokens: 800, cost, ...more } } })?.['m'];

  test('keeps what is stated and leaves out what is not', () => {
    expect(row({ input: ['text', 'image'] })).toEqual({
      ...{ window: 9_000, output: 800, vision: true, thinking: [] },
      price: { in: 2, out: 10, cached: 0.2 },
    });
  });

  test('a price of 0 is an unknown one', () => {
    expect(row({ cost: { ...cost, output: 0 } })).not.toHaveProperty('price');
  });

  test('tiers follow the length of the input', () => {
    const tiers = [{ inputTokensAbove: 5_000, input: 4, output: 15, cacheRead: 0.4, cacheWrite: 0 }];
    expect(row({ cost: { ...cost, tiers } })?.price?.tiers).toEqual([{ aboveTokensIn: 5_000, in: 4, out: 15, cached: 0.4 }]);
  });

  test('levels of thinking are the words of the provider; without a map it only thinks, and Claude when asked', () => {
    const map = { off: 'none', minimal: null, low: 'low', high: 'default', xhigh: null, max: null };
    expect(row({ reasoning: true, thinkingLevelMap: map })?.thinking).toEqual(['none', 'low', 'medium', 'default']);
    expect(row({ reasoning: true })?.thinking).toEqual(['on']);
    const claude = { type: 'chat', id: 'claude-old', contextWindow: 9_000, cost, reasoning: true };
    expect(toRows('anthropic', { wire: { a: claude } })['claude-old']).not.toHaveProperty('thinking');
  });

  test('what is no chat is no row', () => {
    expect(toRows('openai', { wire: { a: { type: 'classifier', id: 'm', contextWindow: 1, cost } } })).toEqual({});
    expect(toRows('openrouter', { wire: { a: { type: 'chat', id: 'm:batch', contextWindow: 1, cost } } })).toEqual({});
  });
});

describe('lifecycle', () => {
  test('dates of OpenAI are read from the comment above ChatModel, over line breaks', () => {
    const text = `/**\n * Old:\n *\n * - "x": no\n */\nexport type Other = 'x';\n/**\n * Deprecated values:\n *\n * - "a", "a-2026",\n *   "b": Announced shutdown\n *   date: 2026-12-11. See\n *   https://x\n * - "c": Not a supported model ID.\n */\nexport declare type Z = 1;`;
    const source = text.replace('export declare type Z = 1;', "export type ChatModel = 'a';");
    expect(parseOpenAiEnds(source)).toEqual({ a: '2026-12-11', 'a-2026': '2026-12-11', b: '2026-12-11' });
    expect(() => parseOpenAiEnds("export type ChatModel = 'a';")).toThrow('not there');
  });

  test('dates and names of Anthropic are read from its table and its type', () => {
    const script = "const DEPRECATED_MODELS = {\n    'claude-a': 'November 30th, 2026',\n};";
    const { ends, known } = parseAnthropicEnds(script, "export type Model = 'claude-a' | 'claude-b' | (string & {});");
    expect([ends, [...known]]).toEqual([{ 'claude-a': '2026-11-30' }, ['claude-a', 'claude-b']]);
    expect(() => parseAnthropicEnds('', '')).toThrow('DEPRECATED_MODELS');
  });

  test('an id with an end is kept although the first source lists it no more, and one that the vendor does not know is refused', () => {
    const ends = { 'gpt-old': '2026-01-01' };
    expect(buildModels(sources({ openAiEnds: ends }))).toEqual({
      openai: { 'gpt-old': { ends: '2026-01-01' } },
      azure: {},
      anthropic: {},
      openrouter: {},
      nvidia: {},
    });
    const rows = { anthropic: { 'claude-x': { window: 1 } } };
    expect(() => buildModels(sources({ rows }))).toThrow("claude-x: the vendor's SDK does not know it");
  });
});

describe('the second source', () => {
  test('the price of the day counts, and the dearest hour of it', () => {
    const prices = [
      { prices: { input_mtok: 1, output_mtok: 2 } },
      { constraint: { type: 'start_date', start_date: '2026-08-17' }, prices: { input_mtok: 3, output_mtok: 6 } },
      { constraint: { type: 'time_of_date' }, prices: { input_mtok: { base: 4 }, output_mtok: 8 } },
      { constraint: { type: 'start_date', start_date: '2027-01-01' }, prices: { input_mtok: 9, output_mtok: 9 } },
    ];
    expect(priceOn(prices, '2026-11-10')).toEqual({ in: 4, out: 8, later: { from: '2027-01-01', in: 9, out: 9 } });
    expect(priceOn({ input_mtok: 0, output_mtok: 0 }, '2026-11-10')).toBeUndefined();
  });

  const rows = { groq: { m: { window: 1, price: { in: 1, out: 2 } } } };
  const second = () => ({ in: 1, out: 3 });

  test('a difference fails the generation unless it is named, and so does one that is gone', () => {
    expect(() => buildModels(sources({ rows, second }))).toThrow('groq/m: 1/2 or, by the second source, 1/3');
    const differences = [{ ...EVIDENCE, provider: 'groq', models: ['m'], reason: 'older' }];
    const named: Overrides = { rows: [], differences };
    expect(buildModels(sources({ rows, second, overrides: named }))['groq']).toEqual(rows.groq);
    expect(() => buildModels(sources({ rows, overrides: named }))).toThrow('groq/m: the sources agree by now');
  });

  test('a price that it announces must be in the row', () => {
    const later = () => ({ in: 1, out: 2, later: { from: '2027-01-01', in: 2, out: 4 } });
    expect(() => buildModels(sources({ rows, second: later }))).toThrow('groq/m: from 2027-01-01 on 2/4');
  });

  test('the price of a reseller stays where it is confirmed; else the maker is the bound, else it is unknown', () => {
    const price = { in: 1, out: 2 };
    const shop = { 'maker/m-1.5': { window: 1, price }, 'maker/n': { window: 1, price }, 'maker/o': { window: 1, price } };
    const maker = { 'm-1-5': { window: 1, price }, n: { window: 1, price: { in: 3, out: 15 } } };
    expect(buildModels(sources({ rows: { openrouter: shop, mistral: maker } }))['openrouter']).toEqual({
      'maker/m-1.5': { window: 1, price },
      'maker/n': { window: 1, price: { in: 3, out: 15, guess: true } },
      'maker/o': { window: 1 },
    });
  });
});

describe('overrides', () => {
  const rows = { groq: { m: { window: 1, output: 1, price: { in: 1, out: 2 } } } };

  test('come last, add rows, take fields away, and say until when their price holds', () => {
    const set = { price: { in: 2, out: 3 }, output: null };
    const override = { ...EVIDENCE, provider: 'groq', models: ['m', 'new'], set, validUntil: '2026-12-31' };
    const built = buildModels(sources({ rows, overrides: { rows: [override], differences: [] } }));
    const changed = { price: { in: 2, out: 3 }, priceUntil: '2026-12-31' };
    expect(built['groq']).toEqual({ m: { window: 1, ...changed }, new: changed });
  });

  test('one without a source, a date or words of the source is refused', () => {
    const override = { provider: 'groq', models: ['m'], set: {}, source: '', date: '2026-11-22', quote: 'x' };
    expect(() => buildModels(sources({ rows, overrides: { rows: [override], differences: [] } }))).toThrow(
      'without its evidence',
    );
  });

  test('every one of the shipped file has its evidence', () => {
    for (const { source, date, quote, models } of [...overrides.rows, ...overrides.differences]) {
      expect(Math.min(source.length, quote.length), models[0]).toBeGreaterThan(8);
      expect(date).toMatch(/^20\d\d-\d\d-\d\d$/);
    }
  });
});
