import { expect, test } from 'vitest';
import { toPlainText } from './format.ts';
import { toBody } from './outbound.ts';

test.each([
  ['**bold** _it_ ~~no~~ `x`', 'bold it no x'],
  ['# Title\n\ntext', 'Title\n\ntext'],
  ['[site](https://example.org/a?b=1)', 'site (https://example.org/a?b=1)'],
  ['https://example.org/a', 'https://example.org/a'],
  ['<https://example.org>', 'https://example.org'],
  ['www.example.org', 'www.example.org'],
  ['[me](mailto:a@b.example)', 'me (a@b.example)'],
  ['<a@b.example>', 'a@b.example'],
  ['[x](javascript:alert(1))', 'x (javascript:alert(1))'],
  ['![chart](https://example.org/c.png)', 'chart (https://example.org/c.png)'],
  ['- a\n- b\n  - c\n    - d', '- a\n- b\n  - c\n    - d'],
  ['3. x\n4. y', '3. x\n4. y'],
  ['- [x] done\n- [ ] open', '- [x] done\n- [ ] open'],
  ['> quoted\n> more', '> quoted\n> more'],
  ['```js\nlet a = *b*;\n```', 'let a = *b*;'],
  ['| k | v |\n|--|--|\n| a | 1 |\n| b | 2 |', 'k: v\na: 1\nb: 2'],
  ['| a | b | c |\n|-|-|-|\n| 1 | 2 | 3 |', 'a | b | c\n1 | 2 | 3'],
  ['a  \nb', 'a\nb'],
  ['x\n\n---\n\ny', 'x\n\n---\n\ny'],
  ['a < b & c > d', 'a < b & c > d'],
  ['2 * 3 * 4', '2 * 3 * 4'],
  ['<script>x</script>', '<script>x</script>'],
])('%j reads %j', async (markdown, text) => {
  expect(await toPlainText(markdown)).toBe(text);
});

test('A31 where a link leads is shown beside its words', async () => {
  expect(await toPlainText('[https://bank.example](https://evil.example)')).toBe('https://bank.example (https://evil.example)');
});

test.each([
  ['It’s “long” — very…', 'It\'s "long" - very...'],
  ['- 5 − 3\u00a0€', '- 5 - 3 €'],
  ['äöü É', 'äöü É'],
  ['It’s “中”', 'It’s “中”'],
  ['It’s 👋', 'It’s 👋'],
])('of %j what costs more than half of a segment is made plain where that helps: %j', async (text, body) => {
  expect(await toBody({ text }, false)).toBe(body);
});

test('plain signs never make a text too long', async () => {
  const text = 'Wait… '.repeat(255).trim();
  expect(await toBody({ text }, false)).toBe('Wait. '.repeat(255).trim());
});

test('plain text stays as it stands, and so does what renders to nothing or grew too long', async () => {
  expect(await toBody({ text: '**x**' }, true)).toBe('**x**');
  expect(await toBody({ text: '#' }, false)).toBe('#');
  const growing = `${'[a][x] '.repeat(200)}\n\n[x]: https://example.org/long/enough/to/grow`;
  expect(await toBody({ text: growing }, false)).toBe(growing);
});
