import { expect, test } from 'vitest';
import { cpuMs } from '../testing/cpu-time.ts';
import { guardedPattern } from './guarded-pattern.ts';

test('a pattern that is slow on a message is told of once, and does not stop the daemon again', () => {
  let told = 0;
  const pattern = guardedPattern('^robot (a+)+$', () => {
    told += 1;
  });
  expect([pattern.test('Robot aaa'), pattern.test('robot')]).toEqual([true, false]);
  const since = cpuMs();
  for (let n = 0; n < 100; n += 1) expect(pattern.test(`robot ${'a'.repeat(40)}!`)).toBe(false);
  expect(cpuMs() - since).toBeLessThan(400);
  expect([told, pattern.test('robot aaa')]).toEqual([1, false]);
});

test('one that repeats nothing is tried as it is', () => {
  const pattern = guardedPattern('\\brobot\\b', () => expect.unreachable());
  expect(pattern).toBeInstanceOf(RegExp);
  expect(pattern.test('hey, ROBOT!')).toBe(true);
});
