import { expect, test } from 'vitest';
import { cpuMs } from '../../src/testing/cpu-time.ts';
import { type Dialect, parseMarkdown, renderMarkdown } from './markdown.ts';

/** Shows the structure the frame reports; escapes only `&` so that double escaping would show. */
const tags: Dialect = {
  text: (value) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
  strong: (inner) => `<b>${inner}</b>`,
  emphasis: (inner) => `<i>${inner}</i>`,
  strike: (inner) => `<s>${inner}</s>`,
  inlineCode: (value) => `<code>${value}</code>`,
  codeBlock: (value, language) => `<pre ${language ?? '-'}>${value}</pre>`,
  link: (inner, url) => `<a ${url}>${inner}</a>`,
  image: (alt, url) => `<img ${url}>${alt}</img>`,
  heading: (inner, depth) => `<h${depth}>${inner}</h${depth}>`,
  quote: (inner, depth) => `<q${depth}>${inner}</q${depth}>`,
  listItem: (inner, place) =>
    `${'  '.repeat(place.depth)}${place.ordered ? `${place.number}.` : '•'}${place.checked === undefined ? '' : place.checked ? '[x]' : '[ ]'} ${inner}`,
  table: ({ header, rows }) => [header, ...rows].map((row) => row.join(' | ')).join('\n'),
  rule: '———',
  lineBreak: '\n',
};

async function render(text: string): Promise<string> {
  return renderMarkdown(await parseMarkdown(text), tags);
}

test('inline marks nest and text is escaped exactly once', async () => {
  expect(await render('a & **b _c_ & d** ~~e~~ `f & g`')).toBe('a &amp; <b>b <i>c</i> &amp; d</b> <s>e</s> <code>f & g</code>');
});

test('raw HTML is shown as text and <br> breaks the line', async () => {
  expect(await render('use <div>x</div> here<br>next')).toBe('use &lt;div>x&lt;/div> here\nnext');
  expect(await render('<script>\nalert(1)\n</script>')).toBe('&lt;script>\nalert(1)\n&lt;/script>');
});

test('a single tilde is a plain character', async () => {
  expect(await render('~5 or ~10~')).toBe('~5 or ~10~');
});

test('fenced code keeps its language and its content', async () => {
  expect(await render('```ts title=x\nconst a = "**b**";\n```')).toBe('<pre ts>const a = "**b**";</pre>');
});

test('blocks keep the distance they had in the source', async () => {
  expect(await render('# Title\ntext\n\n\n\nmore\n- a\n- b\n***\nend')).toBe('<h1>Title</h1>\ntext\n\nmore\n• a\n• b\n———\nend');
});

test('lists report depth, number and task state', async () => {
  expect(await render('3. a\n   - [x] b\n   - [ ] c\n4. d')).toBe('3. a\n  •[x] b\n  •[ ] c\n4. d');
});

test('tables arrive as rendered cells', async () => {
  expect(await render('| a | **b** |\n|---|---|\n| 1 | <x> |')).toBe('a | <b>b</b>\n1 | &lt;x>');
});

test('link references are resolved, and a definition nobody uses is shown as text', async () => {
  expect(await render('[a][1] and ![pic](http://p)\n\n[1]: http://one\n[2]: http://two')).toBe(
    '<a http://one>a</a> and <img http://p>pic</img>\n\n[2]: http://two',
  );
  expect(await render('see[^n]\n\n[^n]: the note')).toBe('see[^n]\n\n[^n]: the note');
});

test.each([
  [
    'a bare address keeps the marks in it',
    'see https://e.org/a_b?c=*d*e now',
    'see <a https://e.org/a_b?c=*d*e>https://e.org/a_b?c=*d*e</a> now',
  ],
  ['a bare address ends before what ends the sentence', 'www.e.org/x.', '<a http://www.e.org/x>www.e.org/x</a>.'],
  ['marks in front of a mail address are words', 'write to ~ada@e.org', 'write to ~<a mailto:ada@e.org>ada@e.org</a>'],
  ['a host alone is a word, and so is any other scheme', 'e.org, ftp://e.org and //e.org', 'e.org, ftp://e.org and //e.org'],
  ['a dialect sees every address, to judge it', '[x](javascript:alert(1))', '<a javascript:alert(1)>x</a>'],
  ['entities and escapes are what they stand for', '&lt;b&gt; &copy; \\* \\_', '&lt;b> © * _'],
  [
    'a bracket that people began a line with, when an answer repeats it',
    '\\[Ada] bot: hi\n\\[docs](x)',
    '[Ada] bot: hi\n[docs](x)',
  ],
  ['hard and soft breaks are line breaks', 'a  \nb\\\nc\nd', 'a\nb\nc\nd'],
  ['a row that is shorter than the header stays so', '| a | b |\n|---|---|\n| 1 |', 'a | b\n1'],
  ['an empty item is an item', '-\n- a', '• \n• a'],
])('%s', async (_title, text, rendered) => {
  expect(await render(text)).toBe(rendered);
});

test('quotes report their depth', async () => {
  expect(await render('> a\n> > b')).toBe('<q0>a\n<q1>b</q1></q0>');
});

test.each([
  ['quotes', '>'.repeat(16_000)],
  ['bullets', `${'- '.repeat(8_000)}x`],
  ['numbers', `${'1. '.repeat(5_000)}x`],
  ['stars', `${'*'.repeat(8_000)}a${'*'.repeat(8_000)}`],
  ['closers', 'a** b* '.repeat(2_300)],
  ['brackets', `${'['.repeat(8_000)}a${']'.repeat(8_000)}`],
  ['pictures', '!['.repeat(8_000)],
  ['pictures among words', 'a![b '.repeat(3_200)],
  ['columns', `${'|a'.repeat(3_000)}\n${'|-'.repeat(3_000)}\n${'|a\n'.repeat(1_200)}`],
  ['links', '[a]('.repeat(4_000)],
  ['ticks', Array.from({ length: 178 }, (_, index) => `${'`'.repeat(index + 1)} `).join('')],
  ['indented lists', Array.from({ length: 125 }, (_, index) => `${'  '.repeat(index)}- a`).join('\n')],
  ['size', 'hello **world** '.repeat(100_000)],
])('absurd %s are rendered in bounded time and never overflow the stack', async (_name, text) => {
  await parseMarkdown('warm up the parser');
  const start = cpuMs();
  expect((await render(text)).length).toBeGreaterThan(0);
  expect(cpuMs() - start).toBeLessThan(2_000);
});

test('a fence that is never closed is still code', async () => {
  expect(await render('```sh\nls')).toBe('<pre sh>ls</pre>');
});

test('an empty text renders as nothing', async () => {
  expect(await render(' \n ')).toBe('');
});

test('words without a mark of Markdown come out as the parser would give them', async () => {
  const pieces = [
    'a',
    'Zoë',
    'is',
    '42',
    ' ',
    ' ',
    '  ',
    '\n',
    '. ',
    ', ',
    ':',
    '://',
    'www.x.de',
    "'",
    '"',
    '-',
    ' - ',
    '—',
    '1. ',
    '(c)',
    '!',
    '🙂',
    '%',
    '/',
  ];
  let state = 7;
  const pick = (): string => {
    state = (state * 48_271) % 2_147_483_647;
    return pieces[state % pieces.length] ?? '';
  };
  for (let round = 0; round < 2_000; round += 1) {
    const text = Array.from({ length: 1 + (round % 12) }, pick).join('');
    // What follows forces the parser and changes nothing before it.
    const parsed = await render(`${text}\n\n**end**`);
    const alone = await render(text);
    expect(`${alone}${alone === '' ? '' : '\n\n'}<b>end</b>`, JSON.stringify(text)).toBe(parsed);
  }
});
