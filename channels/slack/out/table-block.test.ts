import { expect, test } from 'vitest';
import { splitAtTable } from './table-block.ts';

const TABLE = '| Name | Age |\n|---|---|\n| Ada | 36 |';
const raw = (text: string) => ({ type: 'raw_text', text });
const rich = (...elements: object[]) => ({ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] });

/** The rows of the table of a text. */
function rowsOf(markdown: string): unknown {
  return splitAtTable(markdown)?.table['rows'];
}

test('the one table of a text becomes a block that cuts no cell off, and what is around it stays mrkdwn', () => {
  expect(splitAtTable(`**See:**\n${TABLE}\n\nThat is _all_ & more.`)).toEqual({
    before: '*See:*',
    table: {
      type: 'table',
      column_settings: [{ is_wrapped: true }, { is_wrapped: true }],
      rows: [
        [raw('Name'), raw('Age')],
        [raw('Ada'), raw('36')],
      ],
    },
    after: 'That is _all_ &amp; more.',
  });
  expect(splitAtTable(TABLE)).toMatchObject({ before: '', after: '' });
});

test('signs of a cell are no markup: nothing is escaped, and no mention can be written', () => {
  expect(rowsOf('| a |\n|---|\n| <!channel> & \\*b\\* |')).toEqual([[raw('a')], [raw('<!channel> & *b*')]]);
});

test('a cell keeps its marks and links', () => {
  const cells = '| **bold** _it_ | ~~gone~~ `x=1` | [docs](https://e.org/d) | [**x**](mailto:a@e.org) |';
  expect(rowsOf(`| a | b | c | d |\n|---|---|---|---|\n${cells}`)).toMatchObject([
    [raw('a'), raw('b'), raw('c'), raw('d')],
    [
      rich(
        { type: 'text', text: 'bold', style: { bold: true } },
        { type: 'text', text: ' ' },
        { type: 'text', text: 'it', style: { italic: true } },
      ),
      rich(
        { type: 'text', text: 'gone', style: { strike: true } },
        { type: 'text', text: ' ' },
        { type: 'text', text: 'x=1', style: { code: true } },
      ),
      rich({ type: 'link', text: 'docs', url: 'https://e.org/d' }),
      rich({ type: 'link', text: 'x', url: 'mailto:a@e.org', style: { bold: true } }),
    ],
  ]);
});

test('a link of an unsafe scheme is words, and a label cannot hide another address', () => {
  expect(rowsOf('| a | b |\n|---|---|\n| [x](javascript:alert) | [https://a.org](https://b.org) |')).toEqual([
    [raw('a'), raw('b')],
    [
      raw('x (javascript:alert)'),
      rich(
        { type: 'text', text: 'https://a.org (' },
        { type: 'link', text: 'https://b.org', url: 'https://b.org' },
        { type: 'text', text: ')' },
      ),
    ],
  ]);
});

test('every row has a cell for every column, and an empty cell a blank, because the platform refuses one of nothing', () => {
  expect(rowsOf('| | b |\n|---|---|\n| 1 |\n| 2 | two | more |')).toEqual([
    [raw(' '), raw('b'), raw(' ')],
    [raw('1'), raw(' '), raw(' ')],
    [raw('2'), raw('two'), raw('more')],
  ]);
});

/** A table of so many rows, the header among them, and columns. */
function tableOf(rows: number, columns: number, cell = 'x'): string {
  const row = `|${` ${cell} |`.repeat(columns)}\n`;
  return `${row}|${'---|'.repeat(columns)}\n${row.repeat(rows - 1)}`;
}

test.each([
  ['as many rows as the platform takes', tableOf(100, 2), true],
  ['one row more', tableOf(101, 2), false],
  ['as many columns as it takes', tableOf(2, 20), true],
  ['one column more', tableOf(2, 21), false],
  ['as much text as it takes', tableOf(2, 1, 'x'.repeat(5_000)), true],
  ['one character more', `${tableOf(2, 1, 'x'.repeat(5_000))}| y |`, false],
  ['as much text as it takes, but for the blank of an empty cell', `${tableOf(2, 1, 'x'.repeat(5_000))}| |`, false],
  ['a second table', `${TABLE}\n\nand\n\n${TABLE}`, false],
  ['a head alone', '| a | b |\n|---|---|', false],
  ['a table in a list', '- so:\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |', false],
  ['a table in code', `\`\`\`\n${TABLE}\n\`\`\``, false],
  ['no table', 'words | words', false],
])('%s: shown as a block or as text', (_name, markdown, isNative) => {
  expect(splitAtTable(markdown) !== undefined).toBe(isNative);
});
