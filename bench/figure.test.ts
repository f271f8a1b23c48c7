import { expect, test } from 'vitest';
import { notMeasured, passes, toTable } from './figure.ts';

const COLD = { bench: 'scale', name: 'cold start', unit: '', limit: { atMost: 1.2 } };

test('a figure that cannot be measured is named with the reason, and is missed under CI=1 alone', () => {
  const elsewhere = notMeasured(COLD, 'needs root', {});
  expect(toTable([elsewhere])).toMatch(/\| scale +\| cold start +\| none +\|.*not measured: needs root/);
  expect([passes(elsewhere), passes(notMeasured(COLD, 'needs root', { CI: '1' }))]).toEqual([true, false]);
});

test('a figure without a sample is missed where it has a limit', () => {
  expect(passes({ ...COLD, value: Number.NaN })).toBe(false);
  expect(passes({ ...COLD, value: 1.2 })).toBe(true);
});
