import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CardEntities } from '../../../src/simulator/feishu/cards.ts';
import { judgeStreamingCard } from '../../../src/testing/dialects/feishu-card.ts';
import { toCardText, toStreamingCard } from './streaming-card.ts';

const text = (markdown: string) => toCardText(markdown, false);
const judge = (markdown: string) => judgeStreamingCard(toStreamingCard(markdown, { plain: false, streaming: true }));

test.each([
  ['lines end with a tag, paragraphs with a blank line', 'one\ntwo\n\nthree', 'one<br>\ntwo\n\nthree'],
  ['a numbered list keeps its numbers', '3. a\n5. b', '3&#46; a<br>\n4&#46; b'],
  ['a line behind a quote is not part of it', '> quoted\n> twice\n\nbeside', '> quoted<br>\n> twice\n\nbeside'],
  ['a table is one', '| a | b |\n|---|---|\n| 1 | x \\| y |', '| a | b |\n| --- | --- |\n| 1 | x &#124; y |'],
  ['code stands as it is', '```ts\nlet a = 1 | 2;\n```', '```ts\nlet a = 1 | 2;\n```'],
  ['a rule is a tag', 'a\n\n---\n\nb', 'a\n\n<hr>\n\nb'],
  ['no sign makes a heading, a list or a picture', '\\# a\n\\- b\n:OK: c', '&#35; a<br>\n&#45; b<br>\n&#58;OK: c'],
  ['tags and mentions are words', '<at id=all></at>', '&#60;at id=all&#62;&#60;/at&#62;'],
  ['bold between signs and letters has blanks around it', '**注意：**请先备份。', '**注意：** 请先备份。'],
  ['only addresses of the web are links', '[a](https://e.org) [b](mailto:x@e.org)', '[a](https://e.org) b (mailto:x@e.org)'],
])('%s', (_title, markdown, expected) => {
  expect(text(markdown)).toBe(expected);
});

test('four tables are tables, the next are lines', () => {
  const table = '| a | b |\n|---|---|\n| 1 | 2 |';
  const many = text(Array.from({ length: 6 }, () => table).join('\n\n'));
  expect(many.match(/^\| ---/gm)).toHaveLength(4);
  expect(many.endsWith('a &#124; b<br>\n1 &#124; 2')).toBe(true);
});

test('plain text stands as it was written, also what is nothing', () => {
  expect(toCardText('**a** | <b>\n\n1. c', true)).toBe('&#42;&#42;a&#42;&#42; &#124; &#60;b&#62;<br>\n&#160;<br>\n1&#46; c');
  expect(text('')).not.toBe('');
  expect(toStreamingCard('**a**', { plain: true, streaming: false })).toMatchObject({
    body: { elements: [{ tag: 'div', text: { tag: 'plain_text', content: '**a**' } }] },
  });
  const card = toStreamingCard('**a** <at>', { plain: true, streaming: false });
  expect(judgeStreamingCard(card)).toEqual({ violations: [], visible: '**a** <at>' });
});

test('whatever a model writes up to the limit, the platform takes the card, and no line of it is read as something else', () => {
  const cards = new CardEntities(Date.now, () => undefined);
  const piece = fc.constantFrom(
    'word',
    '注意：',
    '**',
    '*',
    '_',
    '`',
    '```\n',
    '|',
    '---',
    '\n',
    '\n\n',
    '> ',
    '# ',
    '- ',
    '1. ',
    '<b>',
    '&',
    '"',
    '\\',
    ':OK:',
    '~~',
    '[a](b)',
    '😀',
    '    ',
    '=',
  );
  const written = fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join(' ').slice(0, 4_000));
  fc.assert(
    fc.property(written, (markdown) => {
      const card = toStreamingCard(markdown, { plain: false, streaming: true });
      cards.handle('POST', '', { type: 'card_json', data: JSON.stringify(card) });
      expect(judge(markdown).violations.filter((one) => one !== 'the message is empty')).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test.each(['|', '<', '|\n', '=\n', '注', '😀', '"', '\\'])('4,000 characters of %j stay below the size of a card', (sign) => {
  expect(judge(sign.repeat(4_000 / sign.length)).violations.filter((one) => one.includes('bytes'))).toEqual([]);
});
