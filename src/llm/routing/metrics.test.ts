import { describe, expect, test } from 'vitest';
import { Metrics } from './metrics.ts';

describe('Metrics (spec B5)', () => {
  test('the first sample sets the averages, later ones count 0.3', () => {
    const metrics = new Metrics();
    metrics.succeeded({ latencyMs: 1_000, firstTokenMs: 100, tokensOut: 50 });
    metrics.succeeded({ latencyMs: 2_000, firstTokenMs: 200, tokensOut: 200 });
    expect(metrics.latencyMs).toBeCloseTo(1_300);
    expect(metrics.firstTokenMs).toBeCloseTo(130);
    expect(metrics.tokensPerSecond).toBeCloseTo(0.7 * 50 + 0.3 * 100);
  });

  test('a call without output tokens or text leaves throughput and first-token time as they are', () => {
    const metrics = new Metrics();
    metrics.succeeded({ latencyMs: 1_000, tokensOut: 0 });
    expect([metrics.tokensPerSecond, metrics.firstTokenMs]).toEqual([undefined, undefined]);
  });

  test('p95 is the sample of rank ceil(0.95 n) of the last 64', () => {
    const metrics = new Metrics();
    expect(metrics.p95Ms).toBeUndefined();
    for (let i = 1; i <= 20; i += 1) metrics.succeeded({ latencyMs: i });
    expect(metrics.p95Ms).toBe(19);
    for (let i = 0; i < 64; i += 1) metrics.succeeded({ latencyMs: 5 });
    expect(metrics.p95Ms).toBe(5);
  });

  test('the error rate is that of the last 64 calls, so that an outage is forgotten', () => {
    const metrics = new Metrics();
    for (let i = 0; i < 32; i += 1) metrics.failed({ expected: false });
    for (let i = 0; i < 32; i += 1) metrics.succeeded({ latencyMs: 1 });
    expect(metrics.errorRate).toBe(0.5);
    for (let i = 0; i < 32; i += 1) metrics.succeeded({ latencyMs: 1 });
    expect([metrics.errorRate, metrics.failures, metrics.calls]).toEqual([0, 32, 96]);
  });

  test('failures behind an open circuit are counted but do not weigh on the error rate', () => {
    const metrics = new Metrics();
    metrics.succeeded({ latencyMs: 1 });
    for (let i = 0; i < 60; i += 1) metrics.failed({ expected: true });
    expect([metrics.failures, metrics.errorRate]).toEqual([60, 0]);
  });
});
