/** Markdown -> mrkdwn (https://docs.slack.dev/messaging/formatting-message-text). */
import { alignedRows, listLine, tableLines } from '../../kit/dialect-parts.ts';
import { type Dialect, type MarkdownNode, parseMarkdown, renderMarkdown, type TableText } from '../../kit/markdown.ts';

/** Never rejects. */
export function toMrkdwn(markdown: string): string {
  return nodesToMrkdwn(parseMarkdown(markdown).children);
}

export function nodesToMrkdwn(children: readonly MarkdownNode[]): string {
  return finish(renderMarkdown({ type: 'root', children: [...children] }, dialect)).trim();
}

/** Text that shows as it stands where markup is off. The platform reads these three even then. */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * While the tree is rendered, markup is written with characters that no person sends: so it can be taken out
 * again where it does not work (in headings and tables) and cannot be mistaken for a star or an underscore of
 * the text.
 */
const [BOLD, BOLD_END, ITALIC, ITALIC_END, STRIKE, STRIKE_END] = ['\uE001', '\uE002', '\uE003', '\uE004', '\uE005', '\uE006'];
const MARKS: Readonly<Record<string, string>> = {
  [BOLD]: '*',
  [BOLD_END]: '*',
  [ITALIC]: '_',
  [ITALIC_END]: '_',
  [STRIKE]: '~',
  [STRIKE_END]: '~',
};
const ANY_MARK = /[\uE001-\uE006]/g;
/** Zero width: keeps a sign of the text from being read as markup, and markup from being stuck to a word. */
const JOINER = '\u2060';
const SPACE = '\u200B';
/** The schemes the apps open. Others, `javascript:` above all, are shown as words. */
export const SAFE_URL = /^(?:https?|mailto|tel):/i;
/** A wider table in letters of one width is broken up by the apps. */
const TABLE_COLUMNS = 90;

const dialect: Dialect = {
  text: literalText,
  strong: (inner) => marked(inner, BOLD, BOLD_END),
  emphasis: (inner) => marked(inner, ITALIC, ITALIC_END),
  strike: (inner) => marked(inner, STRIKE, STRIKE_END),
  inlineCode: (value) => (value.includes('`') ? literalText(value) : `\`${escapeText(clean(value))}\``),
  codeBlock,
  link: toLink,
  image: (alt, url) => toLink(literalText(alt || url), url),
  heading: (inner) => (inner === '' ? '' : marked(inner, BOLD, BOLD_END)),
  // A quote in a quote does not exist: it stays at the one level there is.
  quote: (inner, depth) => (depth === 0 && inner !== '' ? inner.replace(/^/gm, '> ') : inner),
  listItem: listLine('•', '    '),
  itemIndent: '    ',
  table: toTable,
  rule: '———',
  lineBreak: '\n',
};

const toPairs = tableLines((cell) => marked(cell, BOLD, BOLD_END));

/**
 * A star of the text that is not within a word would end the bold words it is among: then they are not bold.
 */
function marked(inner: string, mark: string, end: string): string {
  const words = without(inner, mark, end);
  const sign = `[${MARKS[mark]}]`;
  const free = new RegExp(`(?<![\\p{L}\\p{N}])${sign}|${sign}(?![\\p{L}\\p{N}])`, 'u');
  return free.test(words.replace(/`[^`\n]*`|<[^<>]*>/g, '')) ? words : `${mark}${words}${end}`;
}

function toTable(table: TableText): string {
  const rows = alignedRows(table, TABLE_COLUMNS);
  if (rows !== undefined) return codeBlock(rows);
  return table.header.length === 2 ? toPairs(table) : [table.header, ...table.rows].map((row) => row.join(' | ')).join('\n');
}

/** The language would be shown as the first line; three backticks in the code would end it. */
function codeBlock(value: string): string {
  return `\`\`\`\n${escapeText(clean(value)).replaceAll('```', `\`\`${SPACE}\``)}\n\`\`\``;
}

function toLink(inner: string, url: string): string {
  if (inner === '') return '';
  if (!SAFE_URL.test(url)) return `${inner}${url === '' ? '' : ` (${literalText(url)})`}`;
  // A bar would begin the label, a bracket end the link.
  const target = escapeText(clean(url).replace(/[\s|<>]/g, (char) => encodeURIComponent(char)));
  // No markup is read in a label: what marks all of it goes around the link, the rest is left out.
  const [, before = '', after = ''] = /^([\uE001\uE003\uE005]*)[^\uE001-\uE006]*([\uE002\uE004\uE006]*)$/.exec(inner) ?? [];
  const label = inner
    .replace(ANY_MARK, '')
    .replace(/`(?!\u2060)([^`]+)`/g, '$1')
    .replace(/<[^<>|]*\|([^<>]*)>/g, '$1')
    .replace(/\s+/g, (blanks) => (blanks.includes('\n') ? ' ' : blanks));
  return `${before}<${target}|${label.replaceAll('|', '¦')}>${after}`;
}

/** Text of the source: escaped, and none of its stars, underscores and quote signs is read as markup. */
export function literalText(text: string): string {
  return escapeText(clean(text))
    .replace(/(?<![\p{L}\p{N}])[*_~`](?=\S)/gu, (sign) => `${sign}${JOINER}`)
    .replace(/^(?=&gt;)/gm, JOINER);
}

function clean(text: string): string {
  return text.replace(ANY_MARK, '\uFFFD');
}

function without(text: string, ...marks: readonly string[]): string {
  return marks.reduce((rest, mark) => rest.replaceAll(mark, ''), text);
}

/** Markup is read at the edge of a word only, and never around nothing. */
function finish(text: string): string {
  return text
    .replace(/([\uE001\uE003\uE005])([ \t]*)([\uE002\uE004\uE006])/g, '$2')
    .replace(/(?<=[\p{L}\p{N}])(?=[\uE001\uE003\uE005])|(?<=[\uE002\uE004\uE006])(?=[\p{L}\p{N}])/gu, SPACE)
    .replace(ANY_MARK, (mark) => MARKS[mark] ?? '');
}
