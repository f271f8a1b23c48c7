/** An answer as lines: plain words, within what a server passes on, and no more than people bear. */
import { expect, test } from 'vitest';
import { outbound } from '../../../src/testing/fakes.ts';
import { toLines } from './outbound.ts';

const OPTIONS = { nick: 'bot', maxLines: 20, plain: false };
const words = (text: string, options: Partial<typeof OPTIONS> = {}, chatId = 'Ada!ada') =>
  toLines(outbound({ chatId, text }), { ...OPTIONS, ...options }).map((line) => line.replace(/^PRIVMSG \S+ :/, ''));

test.each<[string, string, string[]]>([
  ['bold, italics and code', '**a** *b* `c` ~~d~~', ['a b c ~d~']],
  ['a heading', '# One\n\ntext', ['One', 'text']],
  ['a list', '- a\n  - b\n1. c', ['- a', '  - b', '1. c']],
  ['tasks', '- [x] a\n- [ ] b', ['- ☑ a', '- ☐ b']],
  ['a link', 'see [the page](https://e.org/a_b)', ['see the page (https://e.org/a_b)']],
  ['a bare address', 'https://e.org/a_b_c and <https://e.org>', ['https://e.org/a_b_c and https://e.org']],
  ['a picture', '![a cat](https://e.org/c.png)', ['a cat (https://e.org/c.png)']],
  ['a table', '| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |', ['a | b | c', '1 | 2 | 3']],
  ['a table of two columns', '| k | v |\n|---|---|\n| one | 1 |', ['k: v', 'one: 1']],
  ['code', '```sh\nls\n  -l **x**\n```', ['ls', '  -l **x**']],
  ['a quote', '> a\n> b', ['> a', '> b']],
])('of %s only words are left', (_what, text, lines) => {
  expect(words(text)).toEqual(lines);
});

test('a second try is made of the text as it stands', () => {
  expect(words('**a**', { plain: true })).toEqual(['**a**']);
});

test('beyond the most lines of an answer the rest is counted', () => {
  const text = Array.from({ length: 30 }, (_, index) => `- ${index}`).join('\n');
  const lines = words(text, { maxLines: 5 });
  expect(lines).toEqual(['- 0', '- 1', '- 2', '- 3', '- 4', '[25 more lines left out]']);
  expect(words('a\n\nb', { maxLines: 1 }).at(-1)).toBe('[1 more line left out]');
  expect(words(text, { maxLines: 30 })).toHaveLength(30);
});

test('no line is longer than a server passes on, with the name of the person and the longest address', () => {
  const nick = 'b'.repeat(30);
  const chatId = `#${'c'.repeat(49)}`;
  const person = 'A'.repeat(60);
  for (const text of [
    'ü'.repeat(900),
    'word '.repeat(300),
    '👩‍👩‍👧‍👦'.repeat(60),
    '字'.repeat(500),
    `a${'\u0301'.repeat(600)}`,
  ]) {
    const lines = toLines(outbound({ chatId, text, replyContext: { nick: person } }), { ...OPTIONS, nick });
    expect(lines[0]).toContain(`PRIVMSG ${chatId} :${person}:`);
    for (const line of lines) {
      expect(Buffer.byteLength(`:${nick}!~${nick}@${'h'.repeat(63)} ${line}\r\n`)).toBeLessThanOrEqual(512);
      expect(line.isWellFormed()).toBe(true);
    }
    const said = lines.map((line) => line.slice(line.indexOf(' :') + 2)).join('');
    expect(said.replace(`${person}:`, '').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
  }
});

test('a line is cut between words, and no character is cut in two', () => {
  const lines = words('word '.repeat(200));
  expect(lines.every((line) => /^word(?: word)*$/.test(line))).toBe(true);
  for (const line of words('👩‍👩‍👧‍👦'.repeat(60))) expect(line).toMatch(/^(?:👩‍👩‍👧‍👦)+$/u);
});

test('A46 no text can end its command or begin another', () => {
  const text = 'one\r\nQUIT :gone\n\u0001VERSION\u0001\u0000\u2028still here';
  expect(toLines(outbound({ chatId: 'Ada!ada', text }), { ...OPTIONS, plain: true })).toEqual([
    'PRIVMSG Ada :one',
    'PRIVMSG Ada :QUIT :gone',
    'PRIVMSG Ada : VERSION  \u2028still here',
  ]);
  for (const line of toLines(outbound({ chatId: 'Ada', text: `**${text}**\n\`\0\x02\`` }), OPTIONS))
    expect(line).not.toMatch(/\p{Cc}/u);
});

test('text that renders to nothing goes out as it was written', () => {
  expect([words('#'), words('```\n```'), words('&nbsp;')]).toEqual([['#'], ['```', '```'], ['&nbsp;']]);
});
