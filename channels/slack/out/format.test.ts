import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectQuick } from '../../../src/testing/quick.ts';
import { plainText } from '../in/inbound-text.ts';
import { escapeText, toMrkdwn } from './format.ts';

test.each([
  ['bold and italic', '**a** __b__ *c* _d_', '*a* *b* _c_ _d_'],
  ['both at once', '***a***', '_*a*_'],
  ['strike', '~~gone~~', '~gone~'],
  ['markup inside a word stands free', 'un**believ**able', 'un\u200B*believ*\u200Bable'],
  ['no italic inside words', 'snake_case_name and 2*3*4', 'snake_case_name and 2*3*4'],
  ['stars and underscores of the text are no markup', 'the \\*real\\* \\_thing\\_', 'the *\u2060real* _\u2060thing_'],
  ['signs are escaped', 'a < b & c > d', 'a &lt; b &amp; c &gt; d'],
  ['no mention can be written', 'hi <!channel> <@U1> &lt;!here&gt;', 'hi &lt;!channel&gt; &lt;@U1&gt; &lt;!here&gt;'],
  ['inline code is only escaped', '`a < **b**`', '`a &lt; **b**`'],
  ['fenced code loses its language', '```ts\nif (a < b) {}\n```', '```\nif (a &lt; b) {}\n```'],
  ['code cannot end its fence', '~~~\n```\nx\n~~~', '```\n``\u200B`\nx\n```'],
  ['headings', '# One **two**\n## Three', '*One two*\n*Three*'],
  ['quotes', '> a\n> b', '> a\n> b'],
  ['a quote in a quote', '> a\n> > b', '> a\n> b'],
  ['a sign that would quote', '\\> not a quote', '\u2060&gt; not a quote'],
  ['bullets', '- a\n* b', '• a\n• b'],
  ['nested bullets', '- a\n  - b\n    - c', '• a\n    • b\n        • c'],
  ['ordered lists keep their numbers', '3. c\n4. d', '3. c\n4. d'],
  ['tasks', '- [x] done\n- [ ] open', '• ☑ done\n• ☐ open'],
  ['rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
  ['links', '[docs](https://example.org/?a=1&b=2)', '<https://example.org/?a=1&amp;b=2|docs>'],
  ['a label marked as a whole', '[**docs**](https://e.org)', '*<https://e.org|docs>*'],
  ['marks and code within a label', '[the **big** `x`, \\`y\\`](https://e.org)', '<https://e.org|the big x, `\u2060y`>'],
  ['a link cannot be broken out of', '[a|b](<https://e.org/x|y>z>)', '[a|b](<https://e.org/x%7Cy|https://e.org/x¦y>z&gt;)'],
  ['a bar in an address', '[a](https://e.org/x|y)', '<https://e.org/x%7Cy|a>'],
  ['links of unsafe schemes', '[x](javascript:alert(1))', 'x (javascript:alert(1))'],
  ['images', '![a cat](https://example.org/c.png)', '<https://example.org/c.png|a cat>'],
  ['table of two columns', '| k | v |\n|---|---|\n| one | 1 |\n| two | 2 |', '*k*: v\n*one*: 1\n*two*: 2'],
  [
    'wider table, aligned',
    '| a | long | c |\n|---|---|---|\n| **1** | 2 | [x](https://e.org) |',
    '```\na | long | c\n--|------|-------------------\n1 | 2    | x (https://e.org)\n```',
  ],
])('%s', async (_name, markdown, mrkdwn) => {
  const rendered = await toMrkdwn(markdown);
  expect(rendered.replace(/-+$/gm, (line) => (line.length > 10 ? '-------------------' : line))).toBe(mrkdwn);
});

test('a table too wide for the screen becomes lines', async () => {
  const wide = 'x'.repeat(40);
  expect(await toMrkdwn(`| a | b | c |\n|---|---|---|\n| ${wide} | ${wide} | ${wide} |`)).not.toContain('```');
});

test('whatever a model writes, it addresses nobody and every bracket is a link of ours', async () => {
  const piece = fc.oneof(
    fc.constantFrom('**', '_', '~~', '`', '```\n', '> ', '- ', '1. ', '# ', '| a | b | c |\n|---|---|---|\n', '[x](', ')'),
    fc.constantFrom('<!channel>', '<@U123>', '<#C1>', '<http://x|y>', '&lt;', '&', '<', '>', '|', '\uE001', '\uE004', '\\'),
    fc.constantFrom('\n', '\n\n', ' ', '![', ']', '(https://e.org "t")', '(https://e.org/<@U1>)', '---\n', '😀'),
    fc.string({ maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
      const rendered = await toMrkdwn(pieces.join(''));
      const others = rendered.replace(/<(?:https?|mailto|tel):[^<>|\s]+\|[^<>|]+>/gi, '');
      // A mention, a link and a word to everybody all begin with it.
      expect(others).not.toContain('<');
      expect(rendered).not.toMatch(/[\uE001-\uE006]/);
    }),
    { numRuns: 300 },
  );
});

test('plain text comes out as it went in', () => {
  const same = fc.property(fc.string(), (text) => {
    expect(plainText(escapeText(text))).toBe(text);
  });
  fc.assert(same);
});

test('a label full of blanks is read at once', () => {
  expectQuick('\u00a0', (blanks) => toMrkdwn(`[a${blanks}b](https://e.org)`));
});
