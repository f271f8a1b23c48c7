import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_WEIGHTS, type ScoreInput, scoreTerms, weighed } from './score.ts';

const unused: ScoreInput = { calls: 0, errorRate: 0 };
const scores = (inputs: readonly ScoreInput[]) => scoreTerms(inputs).map((terms) => weighed(terms, DEFAULT_WEIGHTS));

describe('the score (spec B5)', () => {
  test('a worked example', () => {
    const [a, b] = scoreTerms([
      { calls: 5, errorRate: 0.4, throughput: 30, cost: 2 },
      { calls: 20, errorRate: 0.1, throughput: 60, cost: 8 },
    ]);
    expect(a).toEqual({ error: expect.closeTo(0.2), throughput: 0.5, priority: 0, cost: 0.25 });
    expect(b).toEqual({ error: 0.1, throughput: 0, priority: 0.5, cost: 1 });
    expect(weighed({ error: 0.25, throughput: 0.5, priority: 0, cost: 0.25 }, DEFAULT_WEIGHTS)).toBeCloseTo(
      0.3 * 0.25 + 0.3 * 0.5 + 0.2 * 0.25,
    );
  });

  test('a model of which nothing is known counts as without errors, middling in speed and free of charge', () => {
    expect(scoreTerms([unused])).toEqual([{ error: 0, throughput: 0.5, priority: 0, cost: 0 }]);
  });

  test('without any figures the order of the config decides', () => {
    const [a = 0, b = 0, c = 0] = scores([unused, unused, unused]);
    expect(a < b && b < c).toBe(true);
  });

  const input = fc.record(
    {
      calls: fc.nat(200),
      errorRate: fc.double({ min: 0, max: 1, noNaN: true }),
      throughput: fc.option(fc.double({ min: 0, max: 1e5, noNaN: true }), { nil: undefined }),
      cost: fc.option(fc.double({ min: 0, max: 1e3, noNaN: true }), { nil: undefined }),
    },
    { requiredKeys: ['calls', 'errorRate', 'throughput', 'cost'] },
  );

  test('property: every term lies between 0 and 1', () => {
    fc.assert(
      fc.property(fc.array(input, { minLength: 1, maxLength: 8 }), (inputs) => {
        for (const terms of scoreTerms(inputs)) {
          for (const term of Object.values(terms)) {
            expect(term).toBeGreaterThanOrEqual(0);
            expect(term).toBeLessThanOrEqual(1);
          }
        }
      }),
    );
  });

  test('property: worse in one thing, with all else the same, is never a lower score', () => {
    const worse = fc.constantFrom<(a: ScoreInput) => ScoreInput>(
      (a) => ({ ...a, calls: 10, errorRate: 1 }),
      (a) => ({ ...a, throughput: 0 }),
      (a) => ({ ...a, cost: (a.cost ?? 0) * 2 + 1 }),
    );
    const base = fc.record({
      calls: fc.constant(10),
      errorRate: fc.double({ min: 0, max: 1, noNaN: true }),
      throughput: fc.double({ min: 1, max: 100, noNaN: true }),
      cost: fc.double({ min: 0.1, max: 100, noNaN: true }),
    });
    fc.assert(
      fc.property(base, worse, (a, change) => {
        const [good = 0, bad = 0] = scores([a, change(a)]);
        expect(bad).toBeGreaterThan(good);
      }),
    );
  });
});
