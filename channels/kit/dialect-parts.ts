/** Parts of a dialect that most platforms write alike: lists and tables as plain lines. */
import type { Dialect } from './markdown.ts';

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
