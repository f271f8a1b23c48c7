import { expect, test } from 'vitest';
import { randomFrom } from '../soak-jobs/jobs.ts';
import { judge, type Point, trendOf } from './trend.ts';

const random = randomFrom(7);
/** Around a line, `noise` to either side. */
const series = (perStep: number, noise: number): Point[] =>
  Array.from({ length: 25 }, (_, n) => ({ x: n * 2_000, y: 200 + n * 2_000 * perStep + (random() * 2 - 1) * noise }));
const verdict = (points: readonly Point[], isProved = true) =>
  judge({ name: 'memory', unit: 'MB', points }, { over: 100_000, atMost: (mean) => 0.05 * mean, isProved });

test('the slope and its interval are those of a textbook', () => {
  // Longley's shortest: y = 1, 2, 4, 5, 8 over 1 to 5; slope 1.7, standard error 0.173205, t(3) 3.182.
  const trend = trendOf([1, 2, 4, 5, 8].map((y, n) => ({ x: n + 1, y })));
  expect(trend.slope).toBeCloseTo(1.7, 6);
  expect(trend.high - trend.slope).toBeCloseTo(3.182 * Math.sqrt(1.1 / 3 / 10), 6);
  expect(trend.mean).toBe(4);
});

test('memory that only breathes is flat', () => {
  for (let n = 0; n < 20; n += 1) expect(verdict(series(0, 3)).isFlat).toBe(true);
});

test('200 bytes that each message leaves behind are seen in the noise', () => {
  for (let n = 0; n < 20; n += 1) expect(verdict(series(200 / 1e6, 3)).isFlat).toBe(false);
});

test('too few points prove nothing', () => {
  expect(verdict(series(0, 0).slice(0, 2)).isFlat).toBe(false);
});

test('what is too noisy to prove is still caught when it surely grows', () => {
  for (let n = 0; n < 5; n += 1) {
    expect(verdict(series(0, 40), false).isFlat).toBe(true);
    expect(verdict(series(2_000 / 1e6, 40), false).isFlat).toBe(false);
  }
});
