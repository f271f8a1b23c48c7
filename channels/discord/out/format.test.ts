import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toDiscordMarkdown } from './format.ts';

test.each([
  ['bold and italic', '**a** __b__ *c* _d_', '**a** **b** *c* *d*'],
  ['both', '***both***', '***both***'],
  ['strike', '~~gone~~', '~~gone~~'],
  ['no italic inside words', 'snake_case_name', String.raw`snake\_case\_name`],
  ['stars of a sum', 'costs 5 * 3 * 2', String.raw`costs 5 \* 3 \* 2`],
  ['inline code as it stands', '`a < **b**`', '`a < **b**`'],
  ['inline code with a mark in it', '``a ` b``', '`` a ` b ``'],
  ['fenced code with a language', '```ts\nif (a < b) {}\n```', '```ts\nif (a < b) {}\n```'],
  ['a language that is no word', '~~~a"b\nx\n~~~', '```\nx\n```'],
  ['a fence inside a fence', '````\n```\nx\n```\n````', '```\n`\u200b``\nx\n`\u200b``\n```'],
  ['rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
  ['table of two columns', '| k | v |\n|---|---|\n| one | 1 |\n| two | 2 |', '**k**: v\n**one**: 1\n**two**: 2'],
  ['wider table', '| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |', '```\na | b | c\n--|---|--\n1 | 2 | 3\n```'],
  [
    'table with a link',
    '| a | b | c |\n|---|---|---|\n| 1 | 2 | <https://e.org/> |',
    '**a** | **b** | **c**\n1 | 2 | <https://e.org/>',
  ],
  [
    'table with marks',
    '| *a* | `b` | c |\n|---|---|---|\n| **你好** | 2_ | 3* |',
    '```\na    | b  | c\n-----|----|---\n你好 | 2_ | 3*\n```',
  ],
  ['headings, of which the platform has three', '# One\n### Three\n#### Four', '# One\n### Three\n**Four**'],
  ['consecutive quote lines', '> a\n> b', '> a\n> b'],
  ['a quote in a quote', '> a\n> > b', '> a\n> b'],
  ['a list in a quote', '> - a\n> - b', '> - a\n> - b'],
  ['bullets', '- a\n* b', '- a\n- b'],
  ['nested bullets', '- a\n  - b\n    - c', '- a\n  - b\n    - c'],
  ['ordered lists keep their numbers', '3. c\n4. d', '3. c\n4. d'],
  ['tasks', '- [x] done\n- [ ] open', '- ☑ done\n- ☐ open'],
  ['links without a preview', '[docs](https://example.org/?a=1&b=2)', '[docs](<https://example.org/?a=1&b=2>)'],
  ['addresses with brackets', '[x](https://e.org/a_(b))', '[x](<https://e.org/a_%28b%29>)'],
  ['addresses that are their own name', 'see https://example.org/a_b', 'see <https://example.org/a_b>'],
  ['mail addresses', 'write to me@example.org', 'write to me@example.org'],
  [
    'A31 images are links and fetched by nobody',
    '![a cat](https://e.org/c.png?q=secret)',
    '[a cat](<https://e.org/c.png?q=secret>)',
  ],
  ['a name that looks like another address', '[https://good.org](https://evil.org)', 'https://good.org (<https://evil.org>)'],
  ['links of unsafe schemes', '[x](javascript:alert(1))', 'x (javascript:alert(1))'],
  ['line breaks of HTML', 'a<br>b', 'a\nb'],
  ['other HTML is text', '<u>x</u>', String.raw`\<u>x\</u>`],
  ['spoilers are not hidden', 'a ||b||', String.raw`a \|\|b\|\|`],
  ['what would begin a block', '\\# no\n\n1\\. no\n\n-# no', '\\# no\n\n1\\. no\n\n\\-# no'],
])('%s', async (_name, markdown, discord) => {
  expect(await toDiscordMarkdown(markdown)).toBe(discord);
});

test('nobody is mentioned, whatever a model writes', async () => {
  const text = '@everyone and @here, <@123456789012345678> <@&123456789012345678> <#123456789012345678> **@everyone**';
  expect(await toDiscordMarkdown(text)).toBe(
    '@\u200beveryone and @\u200bhere, \\<@123456789012345678> \\<@&123456789012345678> \\<#123456789012345678> **@\u200beveryone**',
  );
});

test('no text makes it fail, and outside code no mention survives', async () => {
  const piece = fc.oneof(
    fc.constantFrom('**', '_', '~~', '`', '```\n', '> ', '- ', '1. ', '# ', '| a | b |\n|---|---|\n', '[x](', ')', '<b>', '||'),
    fc.constantFrom(
      '\n',
      '\n\n',
      ' ',
      '![',
      ']',
      '(https://e.org "t")',
      '---\n',
      '<',
      '@everyone',
      '\\',
      '😀',
      '<@123456789012345678>',
    ),
    fc.string({ maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
      const out = await toDiscordMarkdown(pieces.join(''));
      const words = out.replace(/```[\s\S]*?```/g, '').replace(/``[^\n]*?``|`[^`]*`/g, '');
      expect(words).not.toMatch(/(?<!\\)<@&?\d/);
    }),
    { numRuns: 200 },
  );
});
