import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectQuick } from '../../../src/testing/quick.ts';
import { printable, toWecom, toWords } from './format.ts';

test.each([
  ['bold', 'a **b** c', 'a **b** c'],
  ['bold over two lines', '**a\nb**', '**a**\n**b**'],
  ['bold within bold', '**a __b__ c**', '**a b c**'],
  ['italics have no form', '**a** *b*', '**a** b'],
  ['headings', '# One\n\n### Two', '# One\n\n### Two'],
  ['links', '[docs](https://example.org/a_(b)?x=1)', '[docs](https://example.org/a_%28b%29?x=1)'],
  ['links of unsafe schemes', '**x** [y](javascript:alert%281%29)', '**x** y (javascript:alert%281%29)'],
  ['links whose words hold brackets', '**x** [a [b] c](https://example.org)', '**x** a [b] c (https://example.org)'],
  ['images become links', '**x** ![a cat](https://example.org/c.png)', '**x** [a cat](https://example.org/c.png)'],
  ['code in a line', 'run `npm ci` now', 'run `npm ci` now'],
  ['quotes', '> a\n> b', '> a\n> b'],
  ['a quote in a quote', '> a\n> > b', '> a\n> b'],
  ['lists', '**x**\n- a\n  - b\n1. c', '**x**\n• a\n  • b\n1. c'],
  ['tasks', '**x**\n- [x] done\n- [ ] open', '**x**\n• ☑ done\n• ☐ open'],
  ['tables of two columns', '**x**\n\n| k | v |\n|---|---|\n| one | 1 |', '**x**\n\n**k**: v\n**one**: 1'],
  ['wider tables', '**x**\n\n| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |', '**x**\n\n**a** | **b** | **c**\n1 | 2 | 3'],
  ['rules', '**a**\n\n---\n\nb', '**a**\n\n———\n\nb'],
])('%s go as Markdown', async (_name, markdown, content) => {
  expect(await toWecom(markdown, true)).toEqual({ msgtype: 'markdown', content });
});

test.each([
  ['words alone', 'Just words, as they are.', 'Just words, as they are.'],
  ['lists alone', '- a\n- b', '• a\n• b'],
  ['a block of code', '**run**\n\n```sh\n# not a heading\necho **x**\n```', 'run\n\n# not a heading\necho **x**'],
  ['literal stars beside bold', '**a** and 2\\*\\*3\\*\\*4', 'a and 2**3**4'],
  ['literal backticks', '**a** \\`b\\`', 'a `b`'],
  ['a literal link', '**a** \\[x](https://evil.example)', 'a [x](https://evil.example)'],
  ['literal marks of colour', '**a** \\<font color="info">b\\</font>', 'a <font color="info">b</font>'],
  ['a literal heading', '**a**\n\n\\# b', 'a\n\n# b'],
])('%s go as text, where nothing is taken for a mark', async (_name, markdown, content) => {
  expect(await toWecom(markdown, true)).toEqual({ msgtype: 'text', content });
});

test('with Markdown turned off everything goes as text, links with their address', async () => {
  const content = 'Docs (https://example.org) and bold';
  expect(await toWecom('[Docs](https://example.org) and **bold**', false)).toEqual({ msgtype: 'text', content });
  expect(await toWords('# T\n\n> q\n\n~~s~~')).toBe('T\n\n| q\n\n~s~');
});

test('A31 a link of a text message cannot be forged from words', async () => {
  const { content } = await toWecom('see <a href="https://evil.example">https://bank.example</a>', true);
  expect(content).not.toMatch(/<a\s/i);
  expect(content).toContain('evil.example');
});

test('what the platform refuses in JSON is taken out', () => {
  expect(printable('a\0b\x1bc\r\nd\te\ud800f中')).toBe('abc\nd\te\ufffdf中');
  expect(JSON.stringify(printable('\x00\x01\udc00'))).not.toContain('\\u');
});

test('whatever a model writes, no visible word is lost and nothing throws', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '**',
      '_',
      '`',
      '```\n',
      '> ',
      '# ',
      '- ',
      '1. ',
      '[a](',
      'https://x.y)',
      '<a href="x">',
      '\n',
      '\n\n',
      '|',
      '---',
      '\\',
    ),
    fc.stringMatching(/^[a-z]{3,8}$/).map((word) => ` ${word} `),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
      const { content } = await toWecom(pieces.join(''), true);
      for (const word of pieces.filter((text) => /^ [a-z]+ $/.test(text))) expect(content).toContain(word.trim());
    }),
    { numRuns: 500, seed: 3 },
  );
});

test('an answer of many line separators is read in one pass', () => {
  expectQuick('\u2028', (text) => toWecom(`# a\n\nb${text}c`, true));
});
