import type { Dialect } from './dialect.ts';

/** Words without a mark, in one line, with the address of a link behind its name. */
export const WORDS_ALONE: Dialect = {
  text: (value) => value,
  strong: (inner) => inner,
  emphasis: (inner) => inner,
  strike: (inner) => inner,
  inlineCode: (value) => value,
  codeBlock: (value) => value,
  link: named,
  image: (alt, url) => named(alt || url, url),
  heading: (inner) => inner,
  quote: (inner) => inner,
  listItem: (inner) => inner,
  table: ({ header, rows }) => [header, ...rows].map((row) => row.join(' ')).join(' '),
  rule: '',
  lineBreak: ' ',
};

function named(inner: string, url: string): string {
  const target = url.replace(/^(?:mailto|tel):/i, '');
  if (inner === '' || inner === url || inner === target || `http://${inner}` === url) return inner || target;
  return target === '' ? inner : `${inner} (${target})`;
}
