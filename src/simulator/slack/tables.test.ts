import { expect, test } from 'vitest';
import { readBlocks } from './limits.ts';

const cell = (text = 'x') => ({ type: 'raw_text', text });
const section = (...elements: object[]) => ({ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] });
const tableOf = (rows: unknown, more: object = {}) => ({ type: 'table', rows, ...more });
const many = <T>(count: number, item: T): readonly T[] => Array.from({ length: count }, () => item);
const judge = (...blocks: object[]) => readBlocks(JSON.stringify(blocks));

test('a table within the limits of the page is taken', () => {
  const link = section({ type: 'link', url: 'https://e.org', text: 'e', style: { bold: true } }, { type: 'text', text: 'x' });
  expect(() => judge(tableOf(many(100, many(20, cell()))))).not.toThrow();
  expect(() => judge(tableOf([[link]], { column_settings: [{ align: 'right', is_wrapped: true }] }))).not.toThrow();
});

test.each([
  ['a row too many', [tableOf(many(101, [cell()]))], 'invalid_blocks'],
  ['a column too many', [tableOf([many(21, cell())])], 'invalid_blocks'],
  ['no row', [tableOf([])], 'invalid_blocks'],
  ['a row of nothing', [tableOf([[]])], 'invalid_blocks'],
  ['an empty cell', [tableOf([[cell(''), cell()]])], 'invalid_blocks'],
  ['a cell of no kind', [tableOf([[{ type: 'mrkdwn', text: 'x' }]])], 'invalid_blocks'],
  ['a run of nothing', [tableOf([[section({ type: 'text', text: '' })]])], 'invalid_blocks'],
  ['a link to nowhere', [tableOf([[section({ type: 'link', text: 'x' })]])], 'invalid_blocks'],
  ['a style of no name', [tableOf([[section({ type: 'text', text: 'x', style: { big: true } })]])], 'invalid_blocks'],
  ['an alignment of no name', [tableOf([[cell()]], { column_settings: [{ align: 'justify' }] })], 'invalid_blocks'],
  ['more text than its cells may hold', [tableOf([[cell('x'.repeat(10_001))]])], 'invalid_blocks'],
  ['a second table', [tableOf([[cell()]]), tableOf([[cell()]])], 'invalid_attachments'],
  ['a block of no kind', [{ type: 'tabel', rows: [[cell()]] }], 'invalid_blocks'],
])('%s is refused', (_name, blocks, error) => {
  expect(() => judge(...blocks)).toThrow(error);
});
