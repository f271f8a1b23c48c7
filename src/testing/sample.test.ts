import { expect, test } from 'vitest';
import { isFullLoad } from './full-load.ts';
import { byLoad, nth, testSample } from './sample.ts';

const played: number[] = [];

testSample([0, 1, 2, 3, 4], nth(2, 1))('row %i', (row) => void played.push(row));

test('a sample is the same rows in each run, and the full load plays them all', () => {
  expect(played).toEqual(byLoad([1, 3], [0, 1, 2, 3, 4]));
  expect(byLoad('sample', 'full')).toBe(isFullLoad() ? 'full' : 'sample');
});
