/** Parts of a dialect that most platforms write alike: lists and tables as plain lines. */
import type { Dialect, TableText } from './dialect.ts';

/**
 * A line with a bullet, or the number of an ordered list, and a box where the item is a task: done, then
 * open.
 */
export function listLine(bullet: string, indent = '  ', boxes = ['☑ ', '☐ ']): Dialect['listItem'] {
  return (inner, { ordered, number, depth, checked }) => {
    const box = checked === undefined ? '' : boxes[checked ? 0 : 1];
    return `${indent.repeat(depth)}${ordered ? `${number}.` : bullet} ${box}${inner}`;
  };
}

/**
 * Two columns become `key: value`, more a line for each row. `strong` marks keys and the header. A cell that
 * a row has more than the
 * header stands behind the others.
 */
export function tableLines(strong: (cell: string) => string): Dialect['table'] {
  return ({ header, rows }) => {
    if (header.length === 2) {
      return [header, ...rows]
        .map(([key = '', value = '', ...more]) => [`${strong(key)}: ${value}`, ...more].join(' | '))
        .join('\n');
    }
    return [header.map(strong), ...rows].map((row) => row.join(' | ')).join('\n');
  };
}

/** One long cell pads all rows: beyond this share an answer of one message could become two. */
const MOST_PADDED = 1.5;
/** In UTF-16 units: up to this size padding does no harm. */
const SMALL_TABLE = 600;

/**
 * Cells below each other, for a block whose letters all have one width. Undefined where that would be wider
 * than `most`, since a line that is broken is no row, where it would be much longer than its cells, and for
 * two columns, which read better as pairs.
 */
export function alignedRows({ header, words }: TableText, most: number): string | undefined {
  if (header.length === 2) return undefined;
  const cells = words().map((row) => row.map((cell) => cell.replace(/\s+/g, ' ')));
  const columns = Math.max(...cells.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ''))));
  if (widths.reduce((sum, each) => sum + each + 3, 0) - 3 > most) return undefined;
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - displayWidth(cell))))
      .join(' | ')
      .trimEnd(),
  );
  const plain = cells.map((row) => row.join(' | ')).join('\n').length;
  if (lines.join('\n').length > Math.max(MOST_PADDED * plain, SMALL_TABLE)) return undefined;
  lines.splice(1, 0, widths.map((each) => '-'.repeat(each)).join('-|-'));
  return lines.join('\n');
}

/** As `alignedRows`, but none where a cell has an address: within a block no app makes a link of it. */
export function alignedRowsWithoutLinks(table: TableText, most: number): string | undefined {
  return table.words().some((row) => row.some((cell) => /\w:\/\//.test(cell))) ? undefined : alignedRows(table, most);
}

/**
 * Shown in the place of two letters where all have one width: wide and full-width characters (UAX 11), and
 * pictures.
 */
const WIDE =
  /^(?:[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|.*\uFE0F)/su;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** How many letters of one width a text takes; marks above a letter and invisible signs take none. */
export function displayWidth(text: string): number {
  // Most cells: no segmenter for them.
  if (/^[\x20-\x7E]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += WIDE.test(segment) ? 2 : /^[\p{M}\p{Cf}\p{Cc}]*$/u.test(segment) ? 0 : 1;
  }
  return width;
}

/** The words of a text, and the blanks on both sides of them. Of blanks alone all are `before`. */
export function withinBlanks(text: string): { readonly before: string; readonly words: string; readonly after: string } {
  const words = text.trim();
  const start = text.length - text.trimStart().length;
  return { before: text.slice(0, start), words, after: text.slice(start + words.length) };
}
