/** Markdown -> words alone: a text message has no markup, and the signs of it would be read as they stand. */
import { type Dialect, parseMarkdown, renderMarkdown } from '../kit/markdown.ts';

/** Never rejects. */
export async function toPlainText(markdown: string): Promise<string> {
  return renderMarkdown(await parseMarkdown(markdown), dialect).trim();
}

const dialect: Dialect = {
  text: (value) => value,
  strong: (inner) => inner,
  emphasis: (inner) => inner,
  strike: (inner) => inner,
  inlineCode: (value) => value,
  codeBlock: (value) => value,
  link: toLink,
  image: (alt, url) => toLink(alt || url, url),
  heading: (inner) => inner,
  quote: (inner) => inner.replace(/^/gm, '> '),
  listItem: (inner, { ordered, number, depth, checked }) => {
    // Signs of the GSM alphabet only: one other would more than halve what fits into a segment.
    const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] ';
    return `${'  '.repeat(depth)}${ordered ? `${number}.` : '-'} ${box}${inner}`;
  },
  table: ({ header, rows }) => {
    if (header.length === 2) return [header, ...rows].map(([key = '', value = '']) => `${key}: ${value}`).join('\n');
    return [header, ...rows].map((row) => row.join(' | ')).join('\n');
  },
  rule: '---',
  lineBreak: '\n',
};

/** The whole address, so that people see where it leads; every phone opens it. Bare addresses stay as they are. */
function toLink(inner: string, url: string): string {
  const target = url.replace(/^(?:mailto|tel):/i, '');
  if (inner === '' || inner === url || inner === target || `http://${inner}` === url) return inner || target;
  return target === '' ? inner : `${inner} (${target})`;
}
