import { expect, test } from 'vitest';
import { expectQuick } from '../../src/testing/quick.ts';
import { alignedRows, alignedRowsWithoutLinks, displayWidth, listLine, tableLines, withinBlanks } from './dialect-parts.ts';

const tableOf = (header: readonly string[], ...rows: readonly (readonly string[])[]) => ({
  ...{ header, rows },
  words: () => [header, ...rows],
});

test('an item is indented by its depth and shows its number, its bullet and its box', () => {
  const item = listLine('•');
  expect(item('x', { ordered: false, number: 1, depth: 1 })).toBe('  • x');
  expect(item('x', { ordered: true, number: 3, depth: 0, checked: false })).toBe('3. ☐ x');
  expect(listLine('-', '    ', ['[x] ', '[ ] '])('x', { ordered: false, number: 1, depth: 1, checked: true })).toBe(
    '    - [x] x',
  );
});

test('two columns become pairs, more become a line for each row', () => {
  const table = tableLines((cell) => `*${cell}*`);
  expect(table(tableOf(['name', 'age'], ['Ada', '36']))).toBe('*name*: age\n*Ada*: 36');
  expect(table(tableOf(['a', 'b'], ['1', '2', '3', '4']))).toBe('*a*: b\n*1*: 2 | 3 | 4');
  expect(table(tableOf(['a', 'b', 'c'], ['1', '2', '3']))).toBe('*a* | *b* | *c*\n1 | 2 | 3');
});

test('rows are aligned by what is shown, up to a width, and only where no address has to be opened', () => {
  const table = tableOf(['名', 'b', 'c'], ['x', '22', '3', '4'], ['long one', '', 'https://e.org']);
  expect(alignedRows(table, 60)?.split('\n')).toEqual([
    '名       | b  | c',
    '---------|----|---------------|--',
    'x        | 22 | 3             | 4',
    'long one |    | https://e.org',
  ]);
  expect(alignedRows(table, 33)).toBeDefined();
  expect(alignedRows(table, 32)).toBeUndefined();
  expect(alignedRowsWithoutLinks(table, 60)).toBeUndefined();
  expect(alignedRowsWithoutLinks(tableOf(['a', 'b', 'c'], ['1', '2', '3']), 60)).toBe('a | b | c\n--|---|--\n1 | 2 | 3');
});

test('rows that one long cell would make much longer are not aligned', () => {
  const rows = Array.from({ length: 60 }, (_, n) => [`${n}`, 'run', 'ok']);
  expect(alignedRows(tableOf(['a', 'b', 'c'], ...rows), 60)).toBeDefined();
  expect(alignedRows(tableOf(['a', 'b', 'c'], ...rows, ['x'.repeat(40), 'run', 'ok']), 60)).toBeUndefined();
});

test.each([
  ['abc', 3],
  ['数据库', 6],
  ['ｆｕｌｌ', 8],
  ['한글', 4],
  ['e\u0301', 1],
  ['✅', 2],
  ['👨‍👩‍👧‍👦', 2],
  ['🇩🇪', 2],
  ['⚠️', 2],
  ['a\u200bb', 2],
  ['Привет', 6],
])('%s is %i letters wide', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test('the blanks on both sides of words are told apart, and those between them are read at once', () => {
  expect(withinBlanks(' \n a b\u00a0')).toEqual({ before: ' \n ', words: 'a b', after: '\u00a0' });
  expect(withinBlanks('  ')).toEqual({ before: '  ', words: '', after: '' });
  expectQuick(' ', (blanks) => withinBlanks(`a${blanks}b`));
});
