/** How long a text is as the platform counts it: bytes of UTF-8 after escaping. */
import { expect, test } from 'vitest';
import { cpuMs } from '../../../src/testing/cpu-time.ts';
import { sentBytes } from './sent-length.ts';

test('the length of a text is what the platform is sent for it: rendered, escaped, in bytes', async () => {
  expect(sentBytes('plain words')).toBe(11);
  expect(sentBytes('**fett** & <x>')).toBe(Buffer.byteLength('*fett* &amp; &lt;x&gt;'));
  expect(sentBytes('Привет')).toBe(12);
  expect(sentBytes('| a | b | c |\n|---|---|---|\n| 1 | long cell | 3 |')).toBeGreaterThan(50);
});

test('a hostile text is measured in a moment, since it is measured again and again', async () => {
  const texts = ['*a_', '![', '[', '> ', '- ', '|a', '`a``', '**', '<a ', '&#', '~~a**', '](', '\\'].map((sign) =>
    sign.repeat(4_000 / sign.length),
  );
  for (const text of texts) {
    const before = cpuMs();
    sentBytes(text);
    expect([text.slice(0, 4), cpuMs() - before < 300]).toEqual([text.slice(0, 4), true]);
  }
});
