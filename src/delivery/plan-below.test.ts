import { expect, test } from 'vitest';
import { below } from './plan-below.ts';

test('a text below a line leaves room for it, as the platform counts', () => {
  const limits = { text: 100, unit: 'byte', caption: 0, uploadBytes: 0, downloadBytes: 0 } as const;
  expect(below('ä:', limits).text).toBe(95);
  expect(below('', limits)).toBe(limits);
  expect(below('ä:', { ...limits, buttons: { choices: 3, text: 50 } }).buttons).toEqual({ choices: 3, text: 45 });
});
