import { expect, test } from 'vitest';
import { toUnitVector } from './unit-vector.ts';

test('a vector keeps its direction and gets length 1', () => {
  expect(toUnitVector([3, 4])).toEqual(Float32Array.from([0.6, 0.8]));
});

test.each([[[]], [[0, 0]], [[1, Number.NaN]], [[1, Number.POSITIVE_INFINITY]], [[1, '2']], ['12'], [undefined]])(
  '%j is no vector',
  (values) => {
    expect(toUnitVector(values)).toBeUndefined();
  },
);
