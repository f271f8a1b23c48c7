import fc from 'fast-check';
import { expect, test } from 'vitest';
import { outbound } from '../../../src/testing/fakes.ts';
import { toWhatsApp } from './format.ts';
import { toMessage, wordsOf } from './outbound.ts';

const J = '\u2060';

test.each([
  ['bold and italic', '**a** __b__ *c* _d_', '*a* *b* _c_ _d_'],
  ['bold italic', '***x***', '_*x*_'],
  ['strike', '~~gone~~', '~gone~'],
  ['no marks inside words', 'snake_case_name and 2*3*4', 'snake_case_name and 2*3*4'],
  ['marks that are text', '\\*not bold\\*', `*${J}not bold*`],
  ['a line that begins like a bullet', '\\* not a bullet\n\\- nor this', `${J}* not a bullet\n${J}- nor this`],
  ['inline code', '`a < **b**`', '`a < **b**`'],
  ['inline code with a mark of code', '`` a`b ``', 'a`b'],
  ['fenced code has no language', '```ts\nif (a) {}\n```', '```\nif (a) {}\n```'],
  ['a fence within code', '````\n```\n````', `\`\`\`\n\`\`${J}\`\n\`\`\``],
  ['rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
  ['table of two columns', '| k | v |\n|---|---|\n| one | 1 |\n| two | 2 |', '*k*: v\n*one*: 1\n*two*: 2'],
  ['wider table', '| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |', '```\na | b | c\n--|---|--\n1 | 2 | 3\n```'],
  ['table with a link', '| a | b | c |\n|---|---|---|\n| 1 | 2 | https://e.org |', '*a* | *b* | *c*\n1 | 2 | https://e.org'],
  ['headings', '# One\n## **Two**', '*One*\n*Two*'],
  ['quotes', '> a\n> b', '> a\n> b'],
  ['a quote in a quote', '> a\n> > b', '> a\n> b'],
  ['bullets', '- a\n* b', '- a\n- b'],
  ['nested bullets', '- a\n  - b', '- a\n  • b'],
  ['ordered lists keep their numbers', '3. c\n4. d', '3. c\n4. d'],
  ['tasks', '- [x] done\n- [ ] open', '- ☑ done\n- ☐ open'],
  ['links', '[docs](https://example.org/?a=1&b=2)', 'docs (https://example.org/?a=1&b=2)'],
  ['a bare address', 'see https://example.org/a_b_c', 'see https://example.org/a_b_c'],
  ['images', '![a cat](https://example.org/c.png)', 'a cat (https://example.org/c.png)'],
  ['links of unsafe schemes', '[x](javascript:alert(1))', 'x (javascript:alert(1))'],
  ['line breaks of HTML', 'a<br>b', 'a\nb'],
  ['other HTML is text', '<u>x</u> & "y"', '<u>x</u> & "y"'],
  ['bold over two lines', '**a\nb**', '*a*\n*b*'],
])('D4 %s', async (_name, markdown, text) => {
  expect(await toWhatsApp(markdown)).toBe(text);
});

test('whatever a model writes, no visible word is lost', async () => {
  const marks = [
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
    '\n',
    '\n\n',
    ' ',
  ];
  const piece = fc.oneof(fc.constantFrom(...marks), fc.stringMatching(/^[a-z]{3,8}$/));
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 25 }), async (pieces) => {
      const text = await toWhatsApp(pieces.join(''));
      // Header cells of an empty table and labels of fences are no words of the text.
      const labelled = /[|]|`{3}|~{3}/.test(pieces.join(''));
      for (const word of labelled ? [] : pieces.filter((one) => /^[a-z]{3,8}$/.test(one))) expect(text).toContain(word);
    }),
    { numRuns: 300 },
  );
});

test('A31 a link goes out as words alone: no picture is loaded for it, and no preview of it is made', async () => {
  const part = outbound({ text: 'see https://collector.example/?q=secret ![x](https://collector.example/i.png)' });
  const { extendedTextMessage, ...others } = toMessage(part, await wordsOf(part, false), undefined);
  expect(others).toEqual({});
  expect(Object.keys(extendedTextMessage ?? {})).toEqual(['text']);
  expect(extendedTextMessage?.text).toContain('https://collector.example/?q=secret');
});
