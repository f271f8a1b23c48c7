import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTelegramHtml } from '../../../src/simulator/telegram/html.ts';
import { shareOf, toTelegramHtml, visibleLength } from './format.ts';

// Spec D4, row by row.
test.each([
  ['bold and italic', '**a** __b__ *c* _d_', '<b>a</b> <b>b</b> <i>c</i> <i>d</i>'],
  ['strike', '~~gone~~', '<s>gone</s>'],
  ['no italic inside words', 'snake_case_name and 2*3*4', 'snake_case_name and 2*3*4'],
  ['inline code is only escaped', '`a < **b** & "c"`', '<code>a &lt; **b** &amp; &quot;c&quot;</code>'],
  ['fenced code with a language', '```ts\nif (a < b) {}\n```', '<pre><code class="language-ts">if (a &lt; b) {}</code></pre>'],
  ['fenced code without one', '```\nx\n```', '<pre>x</pre>'],
  ['a language that is no word', '```a"><b\nx\n```', '<pre><code class="language-a&quot;&gt;&lt;b">x</code></pre>'],
  ['rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
  ['table of two columns', '| k | v |\n|---|---|\n| one | 1 |\n| two | 2 |', '<b>k</b>: v\n<b>one</b>: 1\n<b>two</b>: 2'],
  ['wider table', '| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |', '<pre>a | b | c\n--|---|--\n1 | 2 | 3</pre>'],
  [
    'table with marks',
    '| *a* | `b` | c |\n|---|---|---|\n| **你好** | 2 | 3 < 4 |',
    '<pre>a    | b | c\n-----|---|------\n你好 | 2 | 3 &lt; 4</pre>',
  ],
  [
    'table too wide for a phone',
    `| a | b | c |\n|---|---|---|\n| ${'x'.repeat(30)} | 2 | 3 |`,
    `<b>a</b> | <b>b</b> | <b>c</b>\n${'x'.repeat(30)} | 2 | 3`,
  ],
  ['headings', '# One\n## Two', '<b>One</b>\n<b>Two</b>'],
  ['consecutive quote lines', '> a\n> b', '<blockquote>a\nb</blockquote>'],
  ['a quote in a quote', '> a\n> > b', '<blockquote>a\nb</blockquote>'],
  ['bullets', '- a\n* b', '• a\n• b'],
  ['nested bullets', '- a\n  - b', '• a\n  • b'],
  ['ordered lists keep their numbers', '3. c\n4. d', '3. c\n4. d'],
  ['tasks', '- [x] done\n- [ ] open', '• ☑ done\n• ☐ open'],
  ['links', '[docs](https://example.org/?a=1&b=2)', '<a href="https://example.org/?a=1&amp;b=2">docs</a>'],
  ['images', '![a cat](https://example.org/c.png)', '<a href="https://example.org/c.png">a cat</a>'],
  ['links of unsafe schemes', '[x](javascript:alert(1))', 'x (javascript:alert(1))'],
  ['line breaks of HTML', 'a<br>b', 'a\nb'],
  ['other HTML is text', '<u>x</u> & "y"', '&lt;u&gt;x&lt;/u&gt; &amp; &quot;y&quot;'],
])('D4 %s', async (_name, markdown, html) => {
  expect(await toTelegramHtml(markdown)).toBe(html);
  expect(parseTelegramHtml(html)).toHaveProperty('text');
});

test.each([
  [
    'code is within no other entity',
    '**run `make` now** [`x`](https://e.org)',
    '<b>run </b><code>make</code><b> now</b> <a href="https://e.org">x</a>',
  ],
  ['a link that would notify a person is words', '[Ada](tg://user?id=1)', 'Ada (tg://user?id=1)'],
])('%s', (_name, markdown, html) => {
  expect(toTelegramHtml(markdown)).toBe(html);
});

test('a text takes as much of a message as its entities do', () => {
  expect(shareOf('word '.repeat(100), 4_000)).toBe(499);
  expect(shareOf('**w** '.repeat(101), 4_000)).toBeGreaterThan(4_000);
  expect(shareOf(`[w](https://e.org/${'a'.repeat(1_000)}) `.repeat(10), 4_000)).toBeGreaterThan(4_000);
});

test('whatever a model writes, the platform can parse the result', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '**',
      '_',
      '~~',
      '`',
      '```\n',
      '> ',
      '- ',
      '1. ',
      '# ',
      '| a | b |\n|---|---|\n',
      '[x](',
      ')',
      '<b>',
      '</b>',
      '&lt;',
    ),
    fc.constantFrom('\n', '\n\n', ' ', '![', ']', '(https://e.org "t")', '---\n', '<', '&', '"', '\\', '😀'),
    fc.string({ maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
      expect(parseTelegramHtml(await toTelegramHtml(pieces.join('')))).toHaveProperty('text');
    }),
    { numRuns: 300 },
  );
});

test('the length that counts is the one people see', () => {
  expect(visibleLength('<b>a</b> &lt;&amp;&gt; <a href="https://e.org">😀</a>')).toBe(8);
});
