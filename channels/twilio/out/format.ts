/** Markdown -> words alone: a text message has no markup, and the signs of it would be read as they stand. */
import { listLine, tableLines } from '../../kit/dialect-parts.ts';
import { type Dialect, parseMarkdown, renderMarkdown } from '../../kit/markdown.ts';
import { WORDS_ALONE } from '../../kit/markdown-words.ts';

/** Never rejects. */
export function toPlainText(markdown: string): string {
  return renderMarkdown(parseMarkdown(markdown), dialect).trim();
}

/** The alphabet of a segment of 160 characters; one sign of another leaves it 70. */
const GSM = /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ ÆæßÉ!"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€]*$/;

const PLAIN_SIGNS: readonly (readonly [RegExp, string])[] = [
  [/[‘’‚‛′´]/g, "'"],
  [/[“”„‟″«»]/g, '"'],
  [/[‐‑‒–—―−]/g, '-'],
  [/…/g, '...'],
  [/[•·]/g, '-'],
  [/\p{Zs}/gu, ' '],
];

/** The same with the signs of a typewriter in place of those of a printer. */
export function withPlainSigns(text: string): string {
  return PLAIN_SIGNS.reduce((folded, [sign, plain]) => folded.replace(sign, plain), text);
}

/** Plain signs where they bring the whole text into the cheaper alphabet; else the text as it is. */
export function toCheaper(text: string): string {
  const plain = withPlainSigns(text);
  return GSM.test(plain) ? plain : text;
}

/** Of a link the whole address, so that people see where it leads; every phone opens it. */
const dialect: Dialect = {
  ...WORDS_ALONE,
  quote: (inner) => inner.replace(/^/gm, '> '),
  // Signs of the GSM alphabet only: one other would more than halve what fits into a segment.
  listItem: listLine('-', '  ', ['[x] ', '[ ] ']),
  itemIndent: '  ',
  table: tableLines((cell) => cell),
  rule: '---',
  lineBreak: '\n',
};
