/**
 * Markdown -> WhatsApp's own marks (https://faq.whatsapp.com/539178204879377): *bold* _italic_ ~strike~
 * `code` ``` > - 1.
 */
import { alignedRowsWithoutLinks, listLine, tableLines, withinBlanks } from '../../kit/dialect-parts.ts';
import { type Dialect, parseMarkdown, renderMarkdown, type TableText } from '../../kit/markdown.ts';

/** Never rejects; the platform refuses no text. */
export function toWhatsApp(markdown: string): string {
  return renderMarkdown(parseMarkdown(markdown), dialect).trim();
}

/** Apps make these tappable by themselves, so they are shown as they are. */
const SAFE_URL = /^(?:https?:\/\/|mailto:|tel:)/i;
/** Keeps a mark of the text from being taken for ours; nobody sees it. There is no escape character. */
const JOINER = '\u2060';

/** Letters of one width that a phone shows in a line; what is wider it breaks. */
const TABLE_COLUMNS = 36;

const dialect: Dialect = {
  text: (value) => keepLiteral(value),
  strong: (inner) => wrap(inner, '*'),
  emphasis: (inner) => wrap(inner, '_'),
  strike: (inner) => wrap(inner, '~'),
  inlineCode: (value) => (value.includes('`') || value.includes('\n') ? keepLiteral(value) : `\`${value}\``),
  // There are no languages, and a fence within would end it.
  codeBlock,
  link: (inner, url) => {
    if (url === '' || inner === '') return inner || url;
    return sameTarget(inner, url) ? url : `${inner} (${url})`;
  },
  image: (alt, url) => (alt && SAFE_URL.test(url) ? `${keepLiteral(alt)} (${url})` : keepLiteral(alt || url)),
  heading: (inner) => wrap(inner, '*'),
  boldHeading: () => true,
  // One depth of quotes only.
  quote: (inner, depth) =>
    depth === 0
      ? inner
          .split('\n')
          .map((line) => `> ${line}`)
          .join('\n')
      : inner,
  // Nested lists are not known to the apps: a plain bullet keeps them readable.
  listItem: (inner, place) => listLine(place.depth === 0 ? '-' : '•')(inner, place),
  itemIndent: '  ',
  table: toTable,
  boldHeads: true,
  rule: '———',
  lineBreak: '\n',
};

const toLines = tableLines((cell) => wrap(cell, '*'));

function toTable(table: TableText): string {
  const rows = alignedRowsWithoutLinks(table, TABLE_COLUMNS);
  return rows === undefined ? toLines(table) : codeBlock(rows);
}

function codeBlock(value: string): string {
  return `\`\`\`\n${value.replaceAll('```', `\`\`${JOINER}\``)}\n\`\`\``;
}

/** A mark counts only beside a word and within one line; what cannot be marked is shown without. */
function wrap(inner: string, mark: string): string {
  const parts = inner.split('\n').map((line) => {
    const { before, words, after } = withinBlanks(line);
    if (words === '' || words.includes(mark)) return line;
    return `${before}${mark}${words}${mark}${after}`;
  });
  return parts.join('\n');
}

/** `2*3*4`, `snake_case_name` and a line that begins with `> `, `* ` or `- ` would be read as marks. */
function keepLiteral(text: string): string {
  return text
    .replace(/[*_~`]/g, (mark, at: number) => (pairsUp(text, at, mark) ? `${mark}${JOINER}` : mark))
    .replace(/^([ \t]*)([>*-]|\d+\.)(?= )/gm, `$1${JOINER}$2`);
}

/**
 * Whether the apps could take the mark at `at` for the begin of a marked span: a word follows, and the mark
 * comes again.
 */
function pairsUp(text: string, at: number, mark: string): boolean {
  const before = text[at - 1];
  const next = text[at + 1];
  if (next === undefined || /\s/.test(next)) return false;
  if (mark !== '`' && before !== undefined && /[\p{L}\p{N}]/u.test(before)) return false;
  const end = text.indexOf(mark, at + 1);
  const lineEnd = text.indexOf('\n', at);
  // Behind a sign it may pair with one of other words of the line.
  if (end === -1) return mark !== '`' && before !== undefined && !/\s/.test(before);
  return lineEnd === -1 || end < lineEnd;
}

function sameTarget(inner: string, url: string): boolean {
  const bare = (text: string): string =>
    text
      .replaceAll(JOINER, '')
      .replace(/^mailto:|^tel:/i, '')
      .replace(/\/$/, '');
  return bare(inner) === bare(url) || bare(`http://${inner}`) === bare(url);
}
