/** Markdown -> the HTML subset of the Bot API (https://core.telegram.org/bots/api#html-style), spec D4. */
import { alignedRowsWithoutLinks, listLine, tableLines } from '../../kit/dialect-parts.ts';
import { type Dialect, parseMarkdown, renderMarkdown, type TableText } from '../../kit/markdown.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';

/** Never rejects. The platform may still refuse the result; then the raw text is sent. */
export function toTelegramHtml(markdown: string): string {
  return renderMarkdown(parseMarkdown(markdown), dialect).trim();
}

/** Code units left once the platform has parsed the HTML: what its limits of 4096 and 1024 count. */
export function visibleLength(html: string): number {
  return html.replace(/<[^>]*>/g, '').replace(/&(?:lt|gt|amp|quot);/g, '.').length;
}

/** What is behind the last of them is ignored in silence. */
const MOST_ENTITIES = PLATFORM_LIMITS.entities.value;
/** Of a text with its entities, addresses included. */
const MOST_WITH_ENTITIES = PLATFORM_LIMITS.entitySize.value;

/**
 * How much of a message of `most` code units a text takes, by whichever of the platform's three counts is
 * nearest to its end.
 */
export function shareOf(markdown: string, most: number): number {
  const html = toTelegramHtml(markdown);
  // A language within `pre` is counted too: rather one too many.
  const entities = html.split(/<[a-z]/).length - 1;
  const sized = entities === 0 ? 0 : html.replace(/&(?:lt|gt|amp|quot);/g, '.').length;
  return Math.ceil(Math.max(visibleLength(html), (entities * most) / MOST_ENTITIES, (sized * most) / MOST_WITH_ENTITIES));
}

/**
 * The schemes the apps open. Others, `javascript:` above all, are shown as words; `tg://user` would notify
 * whom a model names.
 */
const SAFE_URL = /^(?:https?|mailto|tel):/i;

/** Letters of one width that a phone shows in a line; what is wider it breaks. */
const TABLE_COLUMNS = 36;

const dialect: Dialect = {
  text: escapeHtml,
  strong: (inner) => around('b', inner),
  emphasis: (inner) => around('i', inner),
  strike: (inner) => around('s', inner),
  inlineCode: (value) => `<code>${escapeHtml(value)}</code>`,
  codeBlock: (value, language) => {
    const code = escapeHtml(value);
    return language ? `<pre><code class="language-${escapeHtml(language)}">${code}</code></pre>` : `<pre>${code}</pre>`;
  },
  link: toLink,
  image: (alt, url) => toLink(escapeHtml(alt || url), url),
  heading: (inner) => around('b', inner),
  boldHeading: () => true,
  // A quote in a quote is an error to the platform.
  quote: (inner, depth) => (depth === 0 ? `<blockquote>${inner}</blockquote>` : inner),
  listItem: listLine('•'),
  itemIndent: '  ',
  table: toTable,
  boldHeads: true,
  rule: '———',
  lineBreak: '\n',
};

const toLines = tableLines((cell) => around('b', cell));

function toTable(table: TableText): string {
  const rows = alignedRowsWithoutLinks(table, TABLE_COLUMNS);
  return rows === undefined ? toLines(table) : `<pre>${escapeHtml(rows)}</pre>`;
}

/**
 * Code can be part of no other entity, nor hold one: what is around it ends before it and goes on behind it.
 */
function around(tag: 'b' | 'i' | 's', inner: string): string {
  return inner
    .split(/(<code>[^<]*<\/code>)/)
    .map((piece, index) => (index % 2 === 1 || piece.trim() === '' ? piece : `<${tag}>${piece}</${tag}>`))
    .join('');
}

function toLink(inner: string, url: string): string {
  if (inner === '') return '';
  return SAFE_URL.test(url)
    ? `<a href="${escapeHtml(url)}">${inner.replace(/<\/?code>/g, '')}</a>`
    : `${inner}${url === '' ? '' : ` (${escapeHtml(url)})`}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
