import { expect, test } from 'vitest';
import { leastCpuMs } from '../../../src/testing/cpu-time.ts';
import { withBlankLine } from './header-section.ts';

test('a header of many broken lines is read in one pass', () => {
  const raw = Buffer.from(`From: a\n${'a\n'.repeat(490)}${' \n'.repeat(31_000)}Subject: x\n\nbody`);
  expect(leastCpuMs(200, () => withBlankLine(raw))).toBeLessThan(200);
});
