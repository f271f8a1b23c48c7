import { describe, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { facts, PRICE, paidModel } from '../../testing/paid-model.ts';
import { collect, modelContract, modelRequest } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { costOf, estimateCall, withCost } from './cost.ts';

modelContract('cost', async () => ({
  model: withCost({ ...createDemoModel({ clock: systemClock }), demo: false }),
  answered: modelRequest('hello'),
  slow: modelRequest('/demo stream'),
  [Symbol.asyncDispose]: async () => undefined,
}));

const signal = new AbortController().signal;

describe('costOf', () => {
  test('tokens cost per million, cached ones at their own rate, or as input where there is none', () => {
    const usage = { tokensIn: 1_000_000, tokensOut: 10_000, tokensCached: 400_000 };
    expect(costOf(usage, { in: 3, out: 15, cached: 0.3 })).toBeCloseTo(0.6 * 3 + 0.4 * 0.3 + 0.15, 12);
    expect(costOf(usage, { in: 3, out: 15 })).toBeCloseTo(3 + 0.15, 12);
  });

  test('an unknown price is null and a free model is 0: they are never mixed up', () => {
    const usage = { tokensIn: 10, tokensOut: 5, tokensCached: 0 };
    expect(costOf(usage, null)).toBeNull();
    expect(costOf(usage, { in: 0, out: 0 })).toBe(0);
  });

  test('more cached tokens than input never make a call cheaper than its input', () => {
    expect(costOf({ tokensIn: 100, tokensOut: 0, tokensCached: 900 }, { in: 10, out: 10, cached: 1 })).toBeCloseTo(0.0001, 12);
  });
});

describe('withCost', () => {
  const usageOf = async (model: ReturnType<typeof paidModel>) => {
    const last = (await collect(withCost(model).call(modelRequest('hi'), signal))).at(-1);
    return last?.type === 'done' ? last.answer.usage : undefined;
  };

  test('an answer carries its cost, null where the price is unknown', async () => {
    const usage = { tokensIn: 1_000, tokensOut: 100, tokensCached: 0 };
    expect(await usageOf(paidModel([{ text: 'x', usage }]))).toEqual({ ...usage, costUsd: 0.02 });
    expect(await usageOf(paidModel([{ text: 'x', usage }], { price: null }))).toEqual({ ...usage, costUsd: null });
  });

  test('what the provider says it cost is kept', async () => {
    const usage = { tokensIn: 1_000, tokensOut: 100, tokensCached: 0, costUsd: 0.5 };
    expect(await usageOf(paidModel([{ text: 'x', usage }]))).toEqual(usage);
  });
});

describe('estimateCall', () => {
  test('the worst case is the estimated input and the lower of both output limits', () => {
    const request = modelRequest('x'.repeat(4_000));
    const { tokensIn, worstUsd } = estimateCall(request, facts());
    expect(worstUsd).toBeCloseTo(tokensIn / 100_000 + 0.1, 12);
    expect(estimateCall({ ...request, maxOutputTokens: 100 }, facts()).worstUsd).toBeCloseTo(tokensIn / 100_000 + 0.01, 12);
    expect(estimateCall({ ...request, maxOutputTokens: 9_999 }, facts()).worstUsd).toBeCloseTo(tokensIn / 100_000 + 0.1, 12);
  });

  test('pictures count, an unknown price has no worst case, and neither has an answer without a limit', () => {
    const image = { mime: 'image/png', base64: '' } as const;
    const images = new Map([['u', [image, image]]]);
    const plain = estimateCall(modelRequest('x'), facts());
    expect(estimateCall(modelRequest('x', { images }), facts()).tokensIn).toBe(plain.tokensIn + 3_200);
    expect(estimateCall(modelRequest('x'), facts({ price: null })).worstUsd).toBeNull();
    expect(estimateCall(modelRequest('x'), undefined).worstUsd).toBeNull();
    expect(estimateCall(modelRequest('x'), facts({ maxOutputTokens: Number.POSITIVE_INFINITY })).worstUsd).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  test('the output that fits an amount costs that amount and not more', () => {
    const estimate = estimateCall(modelRequest('x'), facts());
    const tokens = estimate.outputFor(0.05);
    const cost = (out: number) => costOf({ tokensIn: estimate.tokensIn, tokensOut: out, tokensCached: 0 }, PRICE) ?? 1;
    expect(cost(tokens)).toBeLessThanOrEqual(0.05);
    expect(cost(tokens + 1)).toBeGreaterThan(0.05);
    expect(estimate.outputFor(0)).toBe(0);
    expect(estimateCall(modelRequest('x'), facts({ price: { in: 0, out: 0 } })).outputFor(0)).toBe(Number.POSITIVE_INFINITY);
  });
});
