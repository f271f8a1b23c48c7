import { expect, test } from 'vitest';
import { foldLines } from './output.ts';

test('lines are folded at blanks to the width, the rest under its own column; colours take none', () => {
  const text =
    '\u001b[31m✗\u001b[39m calls     4 calls failed in a row for 3 min: the key was refused   → gatehouse auth set-key openai';
  const lines = foldLines(`short\n${text}`, 60, 12).split('\n');
  expect(lines).toEqual([
    'short',
    '\u001b[31m✗\u001b[39m calls     4 calls failed in a row for 3 min: the key was',
    '            refused   → gatehouse auth set-key openai',
  ]);
});

test('a word that is longer than the width stays whole, and a narrow terminal still shows 20 columns', () => {
  expect(foldLines('data /var/lib/gatehouse/with/a/long/path', 10, 2).split('\n')).toEqual([
    'data',
    '  /var/lib/gatehouse/with/a/long/path',
  ]);
});
