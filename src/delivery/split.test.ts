import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cpuMs } from '../testing/cpu-time.ts';
import { byLoad } from '../testing/sample.ts';
import { measure, type TextUnit } from './measure.ts';
import { type SplitOptions, splitText } from './split.ts';

const small = { max: 20, unit: 'utf16' } as const;
const visible = (text: string): string => text.replace(/\s/gu, '');
const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Fences as CommonMark opens and closes them outside lists, written independently of the code under test. */
function endsInsideFence(chunk: string): boolean {
  let open: string | undefined;
  for (const line of chunk.split('\n')) {
    const match = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    const [, marker = '', info = ''] = match ?? [];
    if (!match) continue;
    if (open === undefined) {
      if (!(marker.startsWith('`') && info.includes('`'))) open = marker;
    } else if (marker.startsWith(open) && info.trim() === '') open = undefined;
  }
  return open !== undefined;
}

test('a text that fits is one chunk, unchanged', () => {
  expect(splitText('hello\n\n  world', small)).toEqual(['hello\n\n  world']);
  expect(splitText('x'.repeat(20), small)).toEqual(['x'.repeat(20)]);
});

test('a text that grows when it is rendered is cut so that no piece outgrows the limit, and keeps its fences', () => {
  const escaped = (text: string): number => text.replaceAll('<', '&lt;').length;
  const source = `before\n\`\`\`html\n${'<p>some words\n'.repeat(40)}\`\`\`\nafter ${'<'.repeat(90)}`;
  const options = { max: 120, unit: 'utf16', sentLength: escaped } as const;
  const chunks = splitText(source, options);
  expect(chunks.filter((chunk) => escaped(chunk) > 120 || endsInsideFence(chunk))).toEqual([]);
  const content = (text: string): string => visible(text.replaceAll(/```(?:html)?/g, ''));
  expect(content(chunks.join('\n'))).toBe(content(source));
  // What nothing can shorten is sent all the same.
  expect(splitText('abcdef', { ...options, sentLength: () => 999 }).join('')).toBe('abcdef');
});

test('a text without anything visible has no chunk', () => {
  expect(splitText('', small)).toEqual([]);
  expect(splitText(' \n'.repeat(100), small)).toEqual([]);
});

test.each([
  ['blank line', 'aa bb\n\ncc\ndd. ee ff gg hh', ['aa bb', 'cc\ndd. ee ff gg hh']],
  ['newline', 'aa. bb\ncc dd. ee ff gg hh', ['aa. bb', 'cc dd. ee ff gg hh']],
  ['sentence, whose period stays', 'aa bb. cc dd ee ff gg hh', ['aa bb.', 'cc dd ee ff gg hh']],
  ['blank', 'aa bb cc dd ee ff gg hh', ['aa bb cc dd ee ff', 'gg hh']],
  ['nothing but characters', 'x'.repeat(45), ['x'.repeat(20), 'x'.repeat(20), 'xxxxx']],
])('the cut is made at the last %s', (_name, text, chunks) => {
  expect(splitText(text, small)).toEqual(chunks);
});

test('a sentence in a language without blanks ends a chunk', () => {
  expect(splitText('\u6c49\u5b57\u3002\u6c49\u5b57\u6c49', { max: 5, unit: 'codepoint' })).toEqual([
    '\u6c49\u5b57\u3002',
    '\u6c49\u5b57\u6c49',
  ]);
});

test.each<[TextUnit, number, number]>([
  ['utf16', 10, 5],
  ['codepoint', 10, 10],
  ['byte', 10, 2],
])('length is measured in %s', (unit, max, emoji) => {
  expect(splitText('\u{1F600}'.repeat(30), { max, unit })[0]).toBe('\u{1F600}'.repeat(emoji));
});

test('a family emoji and a letter with its accents stay whole', () => {
  const family = '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}';
  expect(splitText(family.repeat(4), { max: 20, unit: 'utf16' })).toEqual([family.repeat(2), family.repeat(2)]);
  expect(splitText('e\u0301'.repeat(6), { max: 5, unit: 'utf16' })).toEqual([
    'e\u0301e\u0301',
    'e\u0301e\u0301',
    'e\u0301e\u0301',
  ]);
});

test('code that is cut is closed and opened again with its language, within the limit', () => {
  const code = Array.from({ length: 8 }, (_, index) => `  line ${index}`).join('\n');
  expect(splitText(`\`\`\`ts\n${code}\n\`\`\`\nafter`, { max: 45, unit: 'utf16' })).toEqual([
    '```ts\n  line 0\n  line 1\n  line 2\n  line 3\n```',
    '```ts\n  line 4\n  line 5\n  line 6\n  line 7\n```',
    'after',
  ]);
});

test('code that begins late goes to the next chunk whole', () => {
  const text = `${'word '.repeat(6)}\n\`\`\`sh\nls -l\npwd\n\`\`\``;
  expect(splitText(text, { max: 44, unit: 'utf16' })).toEqual(['word '.repeat(6).trim(), '```sh\nls -l\npwd\n```']);
});

test('code in a list item is closed where the list can see it and opened again without indentation', () => {
  const lines = Array.from({ length: 8 }, (_, index) => `     cmd ${index}`);
  const chunks = splitText(`10. do\n     \`\`\`sh\n${lines.join('\n')}\n     \`\`\`\n     done`, { max: 80, unit: 'utf16' });
  expect(chunks[0]).toMatch(/\n {5}```$/);
  expect(chunks[1]).toMatch(/^```sh\n {5}cmd/);
  expect(chunks.at(-1)).toMatch(/\n```\n {5}done$/);
});

test('quoted code ends with its quote', () => {
  const text = `> \`\`\`\n> code\n\n${'plain text here '.repeat(6)}`;
  for (const chunk of splitText(text, { max: 60, unit: 'utf16' }).slice(1)) expect(chunk).not.toContain('```');
});

test('an answer that forgot to close its code is closed', () => {
  expect(splitText('```sh\nls', { max: 100, unit: 'utf16' })).toEqual(['```sh\nls\n```']);
});

test.each([
  ['bold', 'one **two three four** five', ['one **two three**', '**four** five']],
  ['a closing mark at the cut stays', '**one two thre** four five', ['**one two thre**', 'four five']],
  ['stars that mark nothing stay as they are', 'one ** two three * four', ['one ** two three *', 'four']],
  ['what ends in another paragraph marks nothing', 'one **two thr four\n\nfive** six', ['one **two thr four', 'five** six']],
  ['an item is a block of its own', '- **one two three\n- four** five', ['- **one two three', '- four** five']],
  ['code holds no marks', 'one `**` two three four** five', ['one `**` two three', 'four** five']],
  ['beside wide letters', '说**明：请先备份一二三四五六七八九十**好', ['说**明：请先备份一二三四五六七八九**', '**十**好']],
  ['behind half a character', '**!a\uDE00 two three four five** six', ['**!a\uFFFD two three**', '**four five** six']],
])('emphasis that is cut is closed and opened again: %s', (_name, text, chunks) => {
  expect(splitText(text, small)).toEqual(chunks);
});

test('marks within marks are closed from the inner one on', () => {
  expect(splitText('**one _two three four_ five six seven** eight', { max: 28, unit: 'utf16' })).toEqual([
    '**one _two three four_**',
    '**five six seven** eight',
  ]);
  expect(splitText('**one _two three four five six seven_** eight', { max: 28, unit: 'utf16' })).toEqual([
    '**one _two three four_**',
    '**_five six seven_** eight',
  ]);
});

test('a list that goes on deep in a new chunk is no code there', () => {
  const text = '- top\n  - middle\n    - deep one\n      - deepest\n    - deep two\n- end';
  expect(splitText(text, { max: 34, unit: 'utf16' })).toEqual([
    '- top\n  - middle\n    - deep one',
    '- deepest\n    - deep two',
    '- end',
  ]);
  const code = 'like this:\n\n    first line\n    second line';
  expect(splitText(code, { max: 26, unit: 'utf16' })).toEqual(['like this:', '    first line', '    second line']);
});

test('inline code and links are not cut while there is another place', () => {
  expect(splitText('see the `npm run dev` command', { max: 18, unit: 'utf16' })).toEqual(['see the', '`npm run dev`', 'command']);
  expect(splitText('read [the fine manual](http://x/y) now', { max: 30, unit: 'utf16' })).toEqual([
    'read',
    '[the fine manual](http://x/y)',
    'now',
  ]);
});

test('after the last chunk a note says how much was left out', () => {
  const chunks = splitText('abcd '.repeat(40).trim(), { max: 4, unit: 'utf16', maxChunks: 3 });
  expect(chunks).toEqual(['abcd', 'abcd', 'abcd', '[184']);
  const roomy = splitText('x'.repeat(100_000), { max: 1_000, unit: 'byte' });
  expect(roomy).toHaveLength(51);
  expect(roomy.at(-1)).toBe('[50000 characters left out]');
});

test('a limit that cannot hold one character is refused', () => {
  expect(() => splitText('x', { max: 3, unit: 'byte' })).toThrow(RangeError);
});

const unit = fc.constantFrom<TextUnit>('utf16', 'codepoint', 'byte');
const word = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(' ', '\n', '\n\n', '. ', '  ', '\u{1F1E6}\u{1F1F9}', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('`', '``', '[a b](http://c d)', '](', '[', '**', '> ', '- ', '\u3002', '\uD83D', '\uDE00'),
  },
);
const prose = fc.array(word, { maxLength: 120 }).map((words) => words.join(''));
const documentOf = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => {
  const fence = fc
    .record({ marker: fc.constantFrom('```', '````', '~~~'), language: fc.constantFrom('', 'ts', 'sh x=1'), body: text })
    .map(({ marker, language, body }) => `\n${marker}${language}\n${body}\n${marker}\n`);
  return fc.array(fc.oneof(text, fence), { maxLength: 8 }).map((blocks) => blocks.join(''));
};
const document = documentOf(prose);
/** Marks in running text can make fences of their own: a test could not tell them from added ones. */
const unmarked = documentOf(prose.map((text) => text.replace(/[`~]/g, '')));

/** What a property once found: emphasis that is cut, and wide letters behind half a character. */
const TORN_BEHIND_HALF_A_CHARACTER = `**!\uDE00${'\u{10000}'.repeat(20)} ${'\u{10000}'.repeat(5)}**\n\`\`\`\n\n\`\`\`\n`;

const words = (text: string): string => text.replace(/[*_~]/g, '');

/** Whether `text` has every character of `part` in the same order. */
function isWithin(part: string, text: string): boolean {
  let at = 0;
  for (const character of text) if (part.startsWith(character, at)) at += character.length;
  return at === part.length;
}

function checkChunks(text: string, options: SplitOptions): void {
  for (const chunk of splitText(text, options)) {
    expect(measure(chunk, options.unit)).toBeLessThanOrEqual(options.max);
    expect(chunk).not.toMatch(LONE_SURROGATE);
    expect(chunk.trim()).not.toBe('');
  }
}

test('any text in any unit: every chunk fits, is well-formed and visible', () => {
  fc.assert(
    fc.property(document, unit, fc.integer({ min: 4, max: 300 }), (text, unit, max) => checkChunks(text, { max, unit })),
    { numRuns: byLoad(100, 500) },
  );
});

test('any prose: the chunks together are the text, but for blanks', () => {
  fc.assert(
    fc.property(prose, unit, fc.integer({ min: 4, max: 200 }), (text, unit, max) => {
      fc.pre(!/`{3}|~{3}/.test(text));
      const chunks = splitText(text, { max, unit, maxChunks: 10_000 });
      fc.pre(!chunks.some((chunk) => /^\s*(?:> ?)*(?:`{3}|~{3})/m.test(chunk)));
      // Marks of emphasis may be written once more.
      expect(words(visible(chunks.join('')))).toBe(words(visible(text.toWellFormed())));
    }),
    { numRuns: byLoad(100, 500) },
  );
});

test('any document with code: no visible character is lost, and every chunk closes what it opens', () => {
  const fenceLines = /^[ \t>]*(?:`{3,}|~{3,})[^\n]*$/gm;
  fc.assert(
    fc.property(unmarked, unit, fc.integer({ min: 100, max: 400 }), (plain, unit, max) => {
      const chunks = splitText(plain, { max, unit, maxChunks: 10_000 });
      for (const chunk of chunks) expect(endsInsideFence(chunk), JSON.stringify(chunk)).toBe(false);
      const shown = visible(chunks.join('\n').replace(fenceLines, ''));
      const source = visible(plain.toWellFormed().replace(fenceLines, ''));
      // Only marks of emphasis are written once more, and none of the source is gone.
      expect(words(shown)).toBe(words(source));
      expect(isWithin(source, shown), JSON.stringify([source, shown])).toBe(true);
    }),
    { numRuns: byLoad(100, 500), examples: [[TORN_BEHIND_HALF_A_CHARACTER, 'byte', 100]] },
  );
});

test.each<[string, string]>([
  ['a million emoji', '\u{1F600}'.repeat(1_000_000)],
  ['a million flags', '\u{1F1E6}\u{1F1F9}'.repeat(1_000_000)],
  ['a hundred thousand backticks', '`'.repeat(100_000)],
  ['backticks of every length', Array.from({ length: 600 }, (_, index) => '`'.repeat(index)).join(' ')],
  ['open links', '[a]('.repeat(100_000)],
  ['code spans', '`a b` '.repeat(100_000)],
  ['quotes', '> '.repeat(200_000)],
  ['marks that fit no other', `${'*a '.repeat(2_700)}${'b_ '.repeat(2_700)}`.repeat(20)],
  ['marks that all close', '**a** '.repeat(100_000)],
  ['targets that never end', `](${'a'.repeat(100)}`.repeat(5_000)],
  ['newlines', '\n'.repeat(5_000_000)],
  ['no blanks', 'x'.repeat(1_000_000)],
  ['one letter with a million accents', `e${'\u0301'.repeat(1_000_000)}`],
  ['lone surrogates', '\uD83D'.repeat(100_000)],
  ['fences', '```\n'.repeat(100_000)],
  ['a fence of a thousand tildes', `${'~'.repeat(1_000)}\n${'code\n'.repeat(20_000)}`],
])('%s are split in time and within the limit', (_name, text) => {
  for (const unit of ['utf16', 'codepoint', 'byte'] as const) {
    const start = cpuMs();
    checkChunks(text, { max: 4_000, unit });
    expect(cpuMs() - start).toBeLessThan(1_000);
  }
});

test('ten million characters are split in linear time: a quadratic splitter would take minutes', () => {
  const text = 'The quick brown fox `jumps` over [it](http://x). \n'.repeat(200_000);
  splitText(text.slice(0, 100_000), { max: 4_000, unit: 'utf16' });
  const start = cpuMs();
  expect(splitText(text, { max: 4_000, unit: 'utf16' })).toHaveLength(51);
  expect(cpuMs() - start).toBeLessThan(3_000);
});

test('a text whose end adds nothing to what is sent is rendered a few times only', () => {
  let renderings = 0;
  const sentLength = (markdown: string): number => {
    renderings += 1;
    return markdown.length > 500 ? 4_001 : markdown.length;
  };
  const text = `${'word '.repeat(100)}\n\n${'> \n'.repeat(1_100)}`;
  expect(visible(splitText(text, { max: 4_000, unit: 'utf16', sentLength }).join(''))).toBe(visible(text));
  expect(renderings).toBeLessThan(200);
});
