import { expect, test } from 'vitest';
import { parseRetryAfter } from './retry-after.ts';

test('the wait of a provider is read from headers and prose in every form', () => {
  const now = Date.UTC(2026, 0, 1);
  const header = (value: string) => parseRetryAfter(new Headers({ 'retry-after': value }), '', now);
  expect(header('2')).toBe(2_000);
  expect(header('Thu, 01 Jan 2026 00:00:09 GMT')).toBe(9_000);
  expect(header('Wed, 31 Dec 2025 23:00:00 GMT')).toBe(0);
  expect(header('soon')).toBeUndefined();
  expect(header('9'.repeat(400))).toBe(366 * 86_400_000);
  const prose = (text: string) => parseRetryAfter(undefined, text, now);
  expect(prose('Please try again in 20ms.')).toBe(1_020);
  expect(prose('try again in 1m12.5s')).toBe(73_500);
  expect(prose('Try again in 2 minutes')).toBe(121_000);
  expect(prose('Please retry after 7 seconds.')).toBe(8_000);
  expect(prose('Please retry in 34.5s')).toBe(35_500);
  expect(prose('try again later')).toBeUndefined();
});
