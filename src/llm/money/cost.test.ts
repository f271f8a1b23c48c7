import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelRequest, Usage } from '../../core/model.ts';
import { facts, PRICE } from '../../testing/paid-model.ts';
import { modelRequest } from '../contract.ts';
import { costOf, estimateCall } from './cost.ts';

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

  test('tokens written to a cache have a rate of their own, or that of input', () => {
    const usage = { tokensIn: 1_000, tokensOut: 0, tokensCached: 200, tokensCacheWrite: 300 };
    expect(costOf(usage, { in: 10, out: 0, cached: 1, cacheWrite: 12.5 })).toBeCloseTo((500 * 10 + 200 + 300 * 12.5) / 1e6, 12);
    expect(costOf(usage, { in: 10, out: 0, cached: 1 })).toBeCloseTo((800 * 10 + 200) / 1e6, 12);
  });

  test('an input above a border costs the whole call at the rates behind it', () => {
    const tiers = [
      { aboveTokensIn: 100, in: 20, out: 40, cached: 2 },
      { aboveTokensIn: 1_000, in: 50, out: 60 },
    ];
    const cost = (tokensIn: number) =>
      costOf({ tokensIn, tokensOut: 10, tokensCached: 50 }, { in: 10, out: 20, cached: 1, tiers });
    expect(cost(100)).toBeCloseTo((50 * 10 + 50 + 10 * 20) / 1e6, 12);
    expect(cost(101)).toBeCloseTo((51 * 20 + 50 * 2 + 10 * 40) / 1e6, 12);
    expect(cost(1_001)).toBeCloseTo((1_001 * 50 + 10 * 60) / 1e6, 12);
  });

  test('more cached tokens than input never make a call cheaper than its input', () => {
    expect(costOf({ tokensIn: 100, tokensOut: 0, tokensCached: 900 }, { in: 10, out: 10, cached: 1 })).toBeCloseTo(0.0001, 12);
  });
});

describe('what is booked', () => {
  const usage = { tokensIn: 1_000, tokensOut: 100, tokensCached: 0 };
  const booked = (reported: Usage, override: Partial<ModelRequest> = {}, of = facts()) =>
    estimateCall(modelRequest('x'.repeat(400), override), of).booked(reported, 32_000);

  test('an answer costs its tokens, null where the price is unknown', () => {
    expect(booked(usage)).toEqual({ usage: { ...usage, costUsd: 0.02 }, odd: false });
    expect(booked(usage, {}, facts({ price: null }))?.usage).toEqual({ ...usage, costUsd: null });
  });

  test('what the provider says it cost is preferred; what is no cost, or a hundred times the worst case, is not believed', () => {
    expect(booked({ ...usage, costUsd: 0.5 })).toEqual({ usage: { ...usage, costUsd: 0.5 }, odd: false });
    expect(booked({ ...usage, costUsd: 0 })?.usage.costUsd).toBe(0);
    for (const costUsd of [-0.01, Number.NaN, Number.POSITIVE_INFINITY, 1e9])
      expect(booked({ ...usage, costUsd })).toEqual({ usage: { ...usage, costUsd: 0.02 }, odd: true });
  });

  test('a count beyond the window or the output limit is what was reserved for the call', () => {
    const { tokensIn } = estimateCall(modelRequest('x'.repeat(400)), facts());
    const absurd = booked({ tokensIn: 9e15, tokensOut: 9e15, tokensCached: 9e15 }, { maxOutputTokens: 50 });
    expect(absurd).toMatchObject({ usage: { tokensIn, tokensOut: 50, tokensCached: tokensIn }, odd: true });
    expect(absurd?.usage.costUsd).toBeCloseTo((tokensIn * 10 + 50 * 100) / 1e6, 12);
    const long = modelRequest('x'.repeat(200_000));
    expect(estimateCall(long, facts()).booked({ ...usage, tokensIn: 32_001 }, 32_000)?.usage.tokensIn).toBe(32_000);
    // A server may count more than it was asked for: reasoning, for one.
    expect(booked({ ...usage, tokensOut: 1_000 }, { maxOutputTokens: 50 })).toMatchObject({
      usage: { tokensOut: 1_000 },
      odd: false,
    });
  });

  test('what is no number of tokens, or nothing, is not booked', () => {
    for (const odd of [-1, 0.5, Number.NaN, 1e300]) {
      expect(booked({ ...usage, tokensIn: odd })).toBeUndefined();
      expect(booked({ ...usage, tokensOut: odd })).toBeUndefined();
      const parts = booked({ ...usage, tokensCached: odd, tokensCacheWrite: odd, tokensReasoning: odd });
      expect(parts?.usage).toEqual({ ...usage, tokensCacheWrite: 0, tokensReasoning: 0, costUsd: 0.02 });
    }
    expect(booked({ tokensIn: 0, tokensOut: 0, tokensCached: 0 })).toBeUndefined();
  });

  test('no part is larger than its whole', () => {
    const parts = booked({ ...usage, tokensCached: 900, tokensCacheWrite: 900, tokensReasoning: 900 });
    expect(parts?.usage).toMatchObject({ tokensCached: 900, tokensCacheWrite: 100, tokensReasoning: 100 });
  });

  test('another model that answered is paid for at its own price', () => {
    const estimate = estimateCall(modelRequest('x'), facts());
    expect(estimate.booked(usage, 32_000, { in: 1, out: 1 })?.usage.costUsd).toBeCloseTo(0.0011, 12);
    expect(estimate.booked(usage, 32_000, null)?.usage.costUsd).toBeCloseTo(0.02, 12);
  });

  test('over any report the booked counts are counts within window and limit, and the cost is an amount', () => {
    const any = fc.oneof(fc.nat(), fc.double(), fc.maxSafeInteger(), fc.constantFrom(-1, Number.NaN, 9e15, 1e300, 0));
    const report = fc.record({ tokensIn: any, tokensOut: any, tokensCached: any, tokensCacheWrite: any, costUsd: any });
    fc.assert(
      fc.property(report, fc.integer({ min: 1, max: 5_000 }), (reported, maxOutputTokens) => {
        const found = booked(reported, { maxOutputTokens })?.usage;
        if (!found) return;
        const { tokensIn, tokensOut, tokensCached, tokensCacheWrite = 0, costUsd } = found;
        for (const count of [tokensIn, tokensOut, tokensCached, tokensCacheWrite]) expect(Number.isSafeInteger(count)).toBe(true);
        expect(tokensIn).toBeLessThanOrEqual(32_000);
        expect(tokensOut).toBeLessThanOrEqual(5_000);
        expect(tokensCached + tokensCacheWrite).toBeLessThanOrEqual(tokensIn);
        expect(costUsd).toBeGreaterThanOrEqual(0);
        expect(costUsd).toBeLessThan(200);
      }),
    );
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
    expect(estimateCall(modelRequest('x', { images }), facts()).tokensIn).toBe(plain.tokensIn + 9_600);
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

  test('the worst case is at the dearest rates that the call may meet, all of its input written to the cache', () => {
    const tiers = [{ aboveTokensIn: 2_000, in: 20, out: 40 }];
    const price = { in: 10, out: 20, cacheWrite: 12.5, tiers };
    const worst = (text: string) => estimateCall(modelRequest(text, { maxOutputTokens: 100 }), facts({ price }));
    const short = worst('x');
    expect(short.worstUsd).toBeCloseTo((short.tokensIn * 12.5 + 100 * 20) / 1e6, 12);
    // Few characters a token would lift 1,000 estimated tokens over the border.
    const near = worst('x'.repeat(4_000));
    expect(near.worstUsd).toBeCloseTo((near.tokensIn * 20 + 100 * 40) / 1e6, 12);
  });
});

test('a photo is set aside at what the dearest provider takes for it', () => {
  const images = new Map([['u', [{ mime: 'image/jpeg', base64: 'AAAA' } as const]]]);
  const tokensIn = (over: Partial<ModelRequest>) => estimateCall(modelRequest('x', over), facts()).tokensIn;
  expect(tokensIn({ images }) - tokensIn({})).toBeGreaterThan(4_005);
});
