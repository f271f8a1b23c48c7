import { expect, test } from 'vitest';
import { RecentMap, RecentSet } from './recent.ts';

test('what was set longest ago goes first, and setting again counts as new', () => {
  const map = new RecentMap<number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  map.set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
  expect([map.get('b'), map.has('b'), map.has('a')]).toEqual([undefined, false, true]);
  map.delete('a');
  expect(map.has('a')).toBe(false);
});

test('of a set the first to come is the first to go', () => {
  const set = new RecentSet(2);
  for (const key of ['a', 'b', 'a', 'c']) set.add(key);
  expect(['a', 'b', 'c'].map((key) => set.has(key))).toEqual([false, true, true]);
});
