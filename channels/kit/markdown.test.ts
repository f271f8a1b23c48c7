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

function render(text: string): string {
  return renderMarkdown(parseMarkdown(text), tags);
}

test('inline marks nest and text is escaped exactly once', () => {
  expect(render('a & **b _c_ & d** ~~e~~ `f & g`')).toBe('a &amp; <b>b <i>c</i> &amp; d</b> <s>e</s> <code>f & g</code>');
});

test('raw HTML is shown as text and <br> breaks the line', () => {
  expect(render('use <div>x</div> here<br>next')).toBe('use &lt;div>x&lt;/div> here\nnext');
  expect(render('<script>\nalert(1)\n</script>')).toBe('&lt;script>\nalert(1)\n&lt;/script>');
});

test('a single tilde is a plain character', () => {
  expect(render('~5 or ~10~')).toBe('~5 or ~10~');
});

test('fenced code keeps its language and its content', () => {
  expect(render('```ts title=x\nconst a = "**b**";\n```')).toBe('<pre ts>const a = "**b**";</pre>');
});

test('blocks keep the distance they had in the source', () => {
  expect(render('# Title\ntext\n\n\n\nmore\n- a\n- b\n***\nend')).toBe('<h1>Title</h1>\ntext\n\nmore\n• a\n• b\n———\nend');
});

test('lists report depth, number and task state', () => {
  expect(render('3. a\n   - [x] b\n   - [ ] c\n4. d')).toBe('3. a\n  •[x] b\n  •[ ] c\n4. d');
});

test('tables arrive as rendered cells', () => {
  expect(render('| a | **b** |\n|---|---|\n| 1 | <x> |')).toBe('a | <b>b</b>\n1 | &lt;x>');
});

test('link references are resolved, and a definition nobody uses is shown as text', () => {
  expect(render('[a][1] and ![pic](http://p)\n\n[1]: http://one\n[2]: http://two')).toBe(
    '<a http://one>a</a> and <img http://p>pic</img>\n\n[2]: http://two',
  );
  expect(render('see[^n]\n\n[^n]: the note')).toBe('see[^n]\n\n[^n]: the note');
});

test.each([
  ['two lines under one label', 'log:\n\n[ERROR]: timeout\n[ERROR]: refused\n\nend'],
  ['an address below its label', '[1]:\nhttp://one\n\nend'],
  [
    'words in quotes below one word',
    '> [Answer]: yes\n> "in any\n> case"\n\nend',
    '<q0>[Answer]: yes\n"in any\ncase"</q0>\n\nend',
  ],
  ['a label over two lines', '- [a\n  b]: yes\n\nend', '• [a\nb]: yes\n\nend'],
  [
    'a second definition of a label that is used',
    '[a][1]\n\n[1]: http://one\n[1]: http://two',
    '<a http://one>a</a>\n\n[1]: http://two',
  ],
])('a definition that nothing refers to keeps each of its lines: %s', (_title, text, rendered = text) => {
  expect(render(text)).toBe(rendered);
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
])('%s', (_title, text, rendered) => {
  expect(render(text)).toBe(rendered);
});

test.each([
  ['emphasis ends beside a letter of a script without blanks', '**注意：**请先备份。', '<b>注意：</b>请先备份。'],
  ['and begins there', '请选择**「高级」**里的', '请选择<b>「高级」</b>里的'],
  ['a particle may follow a bracket', '**마크다운(Markdown)**을', '<b>마크다운(Markdown)</b>을'],
  ['other scripts keep to CommonMark', '**Warning:**do not', '**Warning:**do not'],
  ['stars between digits multiply', '2*3*4', '2*3*4'],
  ['a star in front of an ending names files', 'Delete *.tmp and src/**/*.map', 'Delete *.tmp and src/**/*.map'],
  ['a formula is literal', String.raw`\(a_1*b \{x\}\) and \[y_2*z\] **b**`, String.raw`\(a_1*b \{x\}\) and \[y_2*z\] <b>b</b>`],
  ['one between dollars too', '$a_1*b$ and $c_2*d$', '$a_1*b$ and $c_2*d$'],
  ['money is no formula', 'from $5 *to* $6', 'from $5 <i>to</i> $6'],
  ['lines of a formula are no list', '$$\n- x + y\n$$', '$$\n- x + y\n$$'],
  ['a matrix keeps its rows', String.raw`\[`.concat('\na & b \\\\ c\n', String.raw`\]`), '\\[\na &amp; b \\\\ c\n\\]'],
  ['escaped brackets are brackets', String.raw`\[not a link\]\(really\)`, '[not a link](really)'],
  ['code is read before formulas', '`\\(x_1\\)` and `$x$`', '<code>\\(x_1\\)</code> and <code>$x$</code>'],
  ['a key is shown as code', 'Press <kbd>Ctrl</kbd>+<kbd>C</kbd>', 'Press <code>Ctrl</code>+<code>C</code>'],
  ['cells beyond the header are kept', '| a | b |\n|---|---|\n| 1 | 2 | **3** |', 'a | b\n1 | 2 | <b>3</b>'],
  ['and in a quote', '> | a |\n> |---|\n> | 1 | 2 \\| 3 |', '<q0>a\n1 | 2 | 3</q0>'],
  ['bold in bold is bold once', '**a __b__ c**', '<b>a b c</b>'],
  ['code without a line is left out', 'a\n\n```\n```\n\nb', 'a\n\nb'],
  ['a picture in a link is its words', '[![ok](http://p)](http://l)', '<a http://l>ok</a>'],
  [
    'a label that names another address is no link',
    '[https://bank.example](https://evil.example/x)',
    'https://bank.example (<a https://evil.example/x>https://evil.example/x</a>)',
  ],
])('%s', (_title, text, rendered) => {
  expect(render(text)).toBe(rendered);
});

test('the further lines of an item stand below its first', () => {
  const indented = { ...tags, itemIndent: '  ' };
  const text = '1. one\ntwo\n\n   three\n   - a\n     b\n2. end';
  expect(renderMarkdown(parseMarkdown(text), indented)).toBe('1. one\n  two\n\n  three\n  • a\n    b\n2. end');
});

test('a text longer than the parser takes at once keeps its marks', () => {
  const rendered = render('one **two** three.\n\n'.repeat(1_200));
  expect([rendered.includes('**'), rendered.split('<b>').length]).toEqual([false, 1_201]);
});

test('quotes report their depth', () => {
  expect(render('> a\n> > b')).toBe('<q0>a\n<q1>b</q1></q0>');
});

test.each([
  ['quotes', '>'.repeat(16_000)],
  ['bullets', `${'- '.repeat(8_000)}x`],
  ['numbers', `${'1. '.repeat(5_000)}x`],
  ['stars', `${'*'.repeat(8_000)}a${'*'.repeat(8_000)}`],
  ['closers', 'a** b* '.repeat(2_300)],
  ['formulas that never end', String.raw`\(`.repeat(8_000)],
  ['displays that never end', `${String.raw`\[x`}\n`.repeat(4_000)],
  ['dollars', '$a '.repeat(5_000)],
  ['keys that never end', '<kbd>a'.repeat(2_700)],
  ['long with many pieces', `${'['.repeat(100)}\n\n`.repeat(1_200)],
  ['brackets', `${'['.repeat(8_000)}a${']'.repeat(8_000)}`],
  ['pictures', '!['.repeat(8_000)],
  ['pictures among words', 'a![b '.repeat(3_200)],
  ['columns', `${'|a'.repeat(3_000)}\n${'|-'.repeat(3_000)}\n${'|a\n'.repeat(1_200)}`],
  ['links', '[a]('.repeat(4_000)],
  ['ticks', Array.from({ length: 178 }, (_, index) => `${'`'.repeat(index + 1)} `).join('')],
  ['indented lists', Array.from({ length: 125 }, (_, index) => `${'  '.repeat(index)}- a`).join('\n')],
  ['size', 'hello **world** '.repeat(100_000)],
])('absurd %s are rendered in bounded time and never overflow the stack', (_name, text) => {
  parseMarkdown('warm up the parser');
  const start = cpuMs();
  expect(render(text).length).toBeGreaterThan(0);
  expect(cpuMs() - start).toBeLessThan(2_000);
});

test('a fence that is never closed is still code', () => {
  expect(render('```sh\nls')).toBe('<pre sh>ls</pre>');
});

test('an empty text renders as nothing', () => {
  expect(render(' \n ')).toBe('');
});

test('words without a mark of Markdown come out as the parser would give them', () => {
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
    const parsed = render(`${text}\n\n**end**`);
    const alone = render(text);
    expect(`${alone}${alone === '' ? '' : '\n\n'}<b>end</b>`, JSON.stringify(text)).toBe(parsed);
  }
});
