import { expect, test } from 'vitest';
import { spellOut } from './spell-out.ts';

test.each([
  ['a zero-width space', 'rm\u200b -rf'],
  ['an override of direction', 'abc\u202ecba'],
  ['a tag', 'a\u{e0041}b'],
  ['a soft hyphen', 'a\u00adb'],
  ['a blank that is no space', 'a\u00a0b'],
  ['an ideographic space', 'a\u3000b'],
  ['a Hangul filler', 'a\u3164b'],
  ['a line separator', 'a\u2028b'],
  ['a C1 control', 'a\u009bb'],
  ['half of a pair', 'a\ud800b'],
  ['the end of a block of code', 'a\n```\nb'],
])('A32 %s is seen, and the text reads back as the same value', (_what, text) => {
  const shown = spellOut({ text });
  expect(shown).toMatch(/^[ -_a-~\n]*$/);
  expect(JSON.parse(shown)).toEqual({ text });
});

test('words of any script stay as they are written', () => {
  expect(spellOut({ a: 'grüße 世界 👍' })).toBe('{\n  "a": "grüße 世界 👍"\n}');
});
