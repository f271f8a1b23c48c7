/**
 * Markdown -> plain words. IRC has codes for bold and the like, but channels may refuse every message that
 * holds one (https://docs.inspircd.org/3/modules/blockcolor), and there is no telling beforehand.
 */
import { listLine, tableLines } from '../../kit/dialect-parts.ts';
import { isAddressOf } from '../../kit/link-label.ts';
import { type Dialect, parseMarkdown, renderMarkdown } from '../../kit/markdown.ts';

/** Never throws. */
export function toIrc(markdown: string): string {
  return renderMarkdown(parseMarkdown(markdown), WORDS);
}

const WORDS: Dialect = {
  text: (value) => value,
  strong: (inner) => inner,
  emphasis: (inner) => inner,
  strike: (inner) => `~${inner}~`,
  inlineCode: (value) => value,
  codeBlock: (value) => value,
  link: (inner, url) => (url === '' || isAddressOf(inner, url) ? inner : `${inner} (${url})`.trimStart()),
  image: (alt, url) => WORDS.link(alt, url),
  heading: (inner) => inner,
  quote: (inner) => inner.replace(/^/gm, '> '),
  listItem: listLine('-'),
  table: tableLines((cell) => cell),
  rule: '---',
  lineBreak: '\n',
};
