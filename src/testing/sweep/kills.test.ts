import { expect, test } from 'vitest';
import { killsAt } from './kills.ts';

test('a sample takes the middle of each share, and a whole sweep each point', () => {
  const points = (count: number, every: number) => killsAt(count, every, false).map(([kill]) => kill);
  expect(points(219, 240)).toEqual([{ point: 120 }]);
  expect(points(100, 240)).toEqual([{ point: 100 }]);
  expect(points(485, 240)).toEqual([{ point: 120 }, { point: 360 }]);
  expect(points(3, 1)).toEqual([{ point: 1 }, { point: 2 }, { point: 3 }]);
});
