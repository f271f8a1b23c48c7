import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

test('a wait doubles with each failure up to the cap, and is drawn between half of that and the whole', () => {
  const waits = (random: number) =>
    [0, 1, 2, 3, 50].map((n) => backoffMs(n, { baseMs: 1_000, capMs: 5_000, random: () => random }));
  expect(waits(0)).toEqual([500, 1_000, 2_000, 2_500, 2_500]);
  expect(waits(0.999_999)).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
});
