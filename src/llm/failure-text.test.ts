import { expect, test } from 'vitest';
import type { FailureKind } from '../core/model.ts';
import { createFailure } from './failure.ts';
import { failureText } from './failure-text.ts';
import { parseRetryAfter } from './retry-after.ts';

const KINDS: readonly FailureKind[] = [
  'rate-limit',
  'overloaded',
  'server',
  'network',
  'timeout',
  'auth',
  'payment',
  'bad-request',
  'model-gone',
  'context-length',
  'content-filter',
  'empty',
  'malformed',
];

test('A48 the text for the chat holds the code and nothing of message or hint', () => {
  for (const kind of KINDS) {
    const failure = createFailure(kind, { message: '/home/op/canary sk-canary', hint: 'canary in base_url http://10.0.0.1' });
    const text = failureText(failure);
    expect(text).toContain(`(${failure.code})`);
    expect(text).not.toMatch(/canary|http|\/home/);
    expect(text.length).toBeLessThan(160);
  }
});

test('F24 a rate limit says when to ask again', () => {
  const text = (retryAfterMs: number | undefined) => failureText(createFailure('rate-limit', { message: 'x', retryAfterMs }));
  expect(text(12_300)).toContain('in 13 s');
  expect(text(600_000)).toContain('in 10 min');
  expect(text(7_200_000)).toContain('in 2 h');
  expect(text(undefined)).toContain('in a minute');
});

test('the wait of a provider is read from headers and prose in every form', () => {
  const now = Date.UTC(2026, 0, 1);
  const header = (value: string) => parseRetryAfter(new Headers({ 'retry-after': value }), '', now);
  expect(header('2')).toBe(2_000);
  expect(header('Thu, 01 Jan 2026 00:00:09 GMT')).toBe(9_000);
  expect(header('Wed, 31 Dec 2025 23:00:00 GMT')).toBe(0);
  expect(header('soon')).toBeUndefined();
  const prose = (text: string) => parseRetryAfter(undefined, text, now);
  expect(prose('Please try again in 20ms.')).toBe(1_020);
  expect(prose('try again in 1m12.5s')).toBe(73_500);
  expect(prose('Try again in 2 minutes')).toBe(121_000);
  expect(prose('Please retry after 7 seconds.')).toBe(8_000);
  expect(prose('Please retry in 34.5s')).toBe(35_500);
  expect(prose('try again later')).toBeUndefined();
});
