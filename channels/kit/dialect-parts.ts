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

/** Two columns become `key: value`, more a line for each row. `strong` marks keys and the header. */
export function tableLines(strong: (cell: string) => string): Dialect['table'] {
  return ({ header, rows }) => {
    if (header.length === 2) {
      return [header, ...rows].map(([key = '', value = '']) => `${strong(key)}: ${value}`).join('\n');
    }
    return [header.map(strong), ...rows].map((row) => row.join(' | ')).join('\n');
  };
}
