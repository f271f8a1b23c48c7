import { describe, expect, test } from 'vitest';
import { leastCpuMs } from '../../testing/cpu-time.ts';
import { resultOf } from './result.ts';

const LIMIT_MS = 1_000;
/** Nearly as large as a message may be. */
const ROWS = Array.from({ length: 40_000 }, (_, a) => ({ a }));
const LARGE = { rows: ROWS };
const TEXTS = Array.from({ length: 1_000 }, () => ({ type: 'text', text: '{}' }));

/** What each row is held against first, in a schema that it fits all the same. */
const perRow = (variant: object) => ({ properties: { rows: { items: { anyOf: [variant, true] } } } });

/** The rows, 190 levels down. */
const DEEP = Array.from({ length: 190 }).reduce<Record<string, unknown>>((inner) => ({ inner }), LARGE);

describe('A38 A45 no time of others is taken by a structured result that', () => {
  test.each([
    ['is compared with a thousand texts', undefined, LARGE],
    ['may be one of 20,000 objects', { enum: Array(20_000).fill({}) }, LARGE],
    ['has rows that may each be one of 20,000 objects', perRow({ enum: Array(20_000).fill({}) }), LARGE],
    ['is compared whole at each of its levels', { anyOf: [{ const: {} }, true], additionalProperties: { $ref: '#' } }, DEEP],
    ['has rows of 9,000 required names', perRow({ required: Array(9_000).fill('a') }), LARGE],
    ['has rows that lack a name of 60,000 letters', perRow({ required: ['b'.repeat(60_000)] }), LARGE],
    ['has rows of 20,000 types', perRow({ type: Array(20_000).fill('x') }), LARGE],
    ['has rows of types with long names', perRow({ type: ['x'.repeat(30_000), 'y'.repeat(30_000)] }), LARGE],
    ['has rows by a reference of 50,000 names', perRow({ $ref: `#${'/'.repeat(50_000)}` }), LARGE],
    [
      'has rows below a name of 400,000 letters',
      { additionalProperties: { items: { anyOf: [{ type: 'string' }, true] } } },
      { ['n'.repeat(400_000)]: ROWS },
    ],
    [
      'has 40,000 members and 10,000 variants that the first of them ends',
      { properties: { rows: { anyOf: Array(10_000).fill({ additionalProperties: false }) } } },
      { rows: Object.fromEntries(ROWS.map(({ a }) => [`n${a}`, a])) },
    ],
  ] as const)('%s', (_, outputSchema, structuredContent) => {
    const tool = outputSchema ? { outputSchema } : {};
    const answer = { content: TEXTS, structuredContent };
    expect(leastCpuMs(LIMIT_MS, () => resultOf(tool, answer))).toBeLessThan(LIMIT_MS);
  });
});

test('a large structured result that is what its tool promises is told', () => {
  const row = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
  const chosen = { properties: { a: { enum: Array.from({ length: 300 }, (_, n) => `${n}`) } } };
  const outputSchema = { type: 'object', properties: { rows: { type: 'array', items: row } }, required: ['rows'] };
  const rows = Array.from({ length: 95_000 }, () => ({ a: 1 }));
  expect(resultOf({ outputSchema }, { structuredContent: { rows } })).toMatchObject({ ok: true });
  const words = Array.from({ length: 40_000 }, () => ({ a: '299' }));
  const ofChoices = { properties: { rows: { items: chosen } } };
  expect(resultOf({ outputSchema: ofChoices }, { structuredContent: { rows: words } })).toMatchObject({ ok: true });
});

test.each([
  [{ enum: [{ a: 2 }, { a: 1 }] }, true],
  [{ enum: [{ a: 2 }] }, false],
  [{ const: { a: 1 } }, true],
  [{ const: { a: 2 } }, false],
  [{ properties: { a: { enum: ['1', 1] } } }, true],
  [{ properties: { a: { const: '1' } } }, false],
  [{ properties: { a: { $ref: '#/$defs/n~1m' } }, $defs: { 'n/m': { type: ['string', 'number'] } } }, true],
  [{ properties: { a: { $ref: '#/$defs/gone' } } }, false],
  [{ properties: { a: { $ref: '#/$defs/Page%3CFile%3E' } }, $defs: { 'Page<File>': { type: 'number' } } }, true],
  [{ properties: { a: { $ref: '#/$defs/n%7E1m' } }, $defs: { 'n/m': { type: 'number' } } }, true],
  [{ properties: { a: { $ref: '#/$defs/%E0%A4' } } }, false],
  [{ properties: { a: { $ref: '#/$defs/100%' } }, $defs: { '100%': { type: 'number' } } }, true],
  [{ properties: { a: { type: [{ toString: 1 }, 'string'] } } }, false],
])('a structured result with a: 1 against %j: %s', (outputSchema, ok) => {
  expect(resultOf({ outputSchema }, { structuredContent: { a: 1 } })).toMatchObject({ ok });
});

const PAIR = [{ type: 'number' }, { type: 'string' }];

test.each([
  [[1, 'a'], { items: PAIR, additionalItems: false }, true],
  [['a', 1], { items: PAIR, additionalItems: false }, false],
  [[1, 'a', 1], { items: PAIR, additionalItems: false }, false],
  [[1, 'a', 1], { items: PAIR }, true],
  [[1, 'a', 1], { items: PAIR, additionalItems: { type: 'string' } }, false],
  [[1, 'a', 1], { prefixItems: PAIR, items: false }, false],
  [[1, 'a'], { prefixItems: PAIR, items: false }, true],
])('a structured result with the list %j against %j, of draft-07 or later: %s', (at, list, ok) => {
  const outputSchema = { type: 'object', properties: { at: { type: 'array', ...list } } };
  expect(resultOf({ outputSchema }, { structuredContent: { at } })).toMatchObject({ ok });
});
