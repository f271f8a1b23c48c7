import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, nearest } from './edit-distance.ts';

test.each([
  ['kitten', 'sitting', 3],
  ['gatewya', 'gateway', 1],
  ['', 'abc', 3],
  ['same', 'SAME', 0],
])('the distance of %s and %s is %i', (left, right, distance) => {
  expect(editDistance(left, right)).toBe(distance);
});

test('the distance is symmetric, zero for equal words and bounded by the longer word', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (left, right) => {
      const distance = editDistance(left, right);
      const longest = Math.max(left.toLowerCase().length, right.toLowerCase().length);
      expect(distance).toBe(editDistance(right, left));
      expect(editDistance(left, left)).toBe(0);
      expect(distance).toBeLessThanOrEqual(longest);
    }),
  );
});

test('a typo finds its word and a word that is far from all finds none', () => {
  expect(nearest('telegarm', ['cli', 'telegram', 'email'])).toBe('telegram');
  expect(nearest('zzz', ['cli', 'telegram', 'email'])).toBeUndefined();
  expect(nearest('x', [])).toBeUndefined();
});
