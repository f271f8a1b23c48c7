import { expect, test } from 'vitest';
import { cpuMs } from '../../../src/testing/cpu-time.ts';
import { parseMail } from './mime.ts';

test.each([
  ['lines of words', 'x\n', ''],
  ['lines of base64, each with an end,', 'eA==\n', 'Content-Transfer-Encoding: base64\n'],
  ['ends of base64 in one line', 'eA==', 'Content-Transfer-Encoding: base64\n'],
])('A45 others wait for no longer than 300 ms while 200,000 %s are read', async (_title, line, field) => {
  let [longest, last, reading] = [0, cpuMs(), true];
  const other = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (reading) setImmediate(other);
  };
  other();
  const { text } = await parseMail(Buffer.from(`From: a@b.c\n${field}\n${line.repeat(200_000)}`));
  reading = false;
  other();
  expect(text?.replaceAll('\n', '')).toBe('x'.repeat(200_000));
  expect(longest).toBeLessThan(300);
});
