/** Markdown -> Discord's own subset (https://discord.com/developers/docs/reference#message-formatting). */
import { alignedRowsWithoutLinks, listLine, tableLines, withinBlanks } from '../../kit/dialect-parts.ts';
import { type Dialect, parseMarkdown, renderMarkdown, type TableText } from '../../kit/markdown.ts';

/** Never rejects. What the platform would read as markup though the author meant the character is escaped. */
export function toDiscordMarkdown(markdown: string): string {
  return renderMarkdown(parseMarkdown(markdown), dialect).trim();
}

/** The schemes the apps make a link of. Others are shown as words. */
const SAFE_URL = /^https?:\/\/[^\s<>]+$/i;

/** Letters of one width that a narrow window of the app shows in a line; what is wider it breaks. */
const TABLE_COLUMNS = 56;

const dialect: Dialect = {
  text: escapeText,
  strong: (inner) => wrap('**', inner),
  emphasis: (inner) => wrap('*', inner),
  strike: (inner) => wrap('~~', inner),
  inlineCode,
  codeBlock,
  link: toLink,
  // The platform would fetch and show a picture of any address that a model was made to write (attack A31).
  image: (alt, url) => toLink(escapeText(alt || url), url),
  // Four marks and more are no heading to the platform.
  heading: (inner, depth) =>
    inner === '' ? '' : depth <= 3 ? `${'#'.repeat(depth)} ${inner.replaceAll('\n', ' ')}` : wrap('**', inner),
  boldHeading: (depth) => depth > 3,
  // A quote in a quote is not a thing there: its mark would be shown.
  quote: (inner, depth) => (depth === 0 ? inner.replaceAll(/^/gm, '> ') : inner),
  listItem: listLine('-'),
  itemIndent: '  ',
  table: toTable,
  boldHeads: true,
  rule: '———',
  lineBreak: '\n',
};

const toLines = tableLines((cell) => wrap('**', cell));

function toTable(table: TableText): string {
  const rows = alignedRowsWithoutLinks(table, TABLE_COLUMNS);
  return rows === undefined ? toLines(table) : codeBlock(rows, undefined);
}

/** Marks around nothing would be shown, and those that touch a space mark nothing. */
function wrap(mark: string, inner: string): string {
  const { before, words, after } = withinBlanks(inner);
  return words === '' ? inner : `${before}${mark}${words}${mark}${after}`;
}

function inlineCode(value: string): string {
  const longest = Math.max(0, ...[...value.matchAll(/`+/g)].map(([run]) => run.length));
  // The platform knows one and two of them.
  if (longest > 1) return escapeText(value);
  return longest === 1 ? `\`\` ${value} \`\`` : `\`${value}\``;
}

function codeBlock(value: string, language: string | undefined): string {
  // There is no longer fence to put around one: an invisible character parts the three.
  const code = value.replaceAll('```', '`\u200b``');
  const name = language && /^[\w+#.-]{1,30}$/.test(language) ? language : '';
  return `\`\`\`${name}\n${code}\n\`\`\``;
}

function toLink(inner: string, url: string): string {
  if (inner === '') return '';
  // An address of mail that the parser found: it is its own name.
  if (url === `mailto:${unescaped(inner)}`) return inner;
  if (!SAFE_URL.test(url)) return url === '' ? inner : `${inner} (${escapeText(url)})`;
  const target = url.replaceAll(/[()\\]/g, (char) => encodeURIComponent(char).replace('(', '%28').replace(')', '%29'));
  // An address that is its own name is a link as it stands; a name that looks like an address would be
  // refused as a trick.
  if (unescaped(inner) === url || /https?:\/\//i.test(inner))
    return unescaped(inner) === url ? `<${url}>` : `${inner} (<${url}>)`;
  return `[${inner}](<${target}>)`;
}

/**
 * What stands for itself: marks, mentions and time stamps, and at the start of a line what would begin a
 * block.
 */
function escapeText(text: string): string {
  return text
    .replaceAll(/[\\*_~`|<[\]]/g, String.raw`\$&`)
    .replaceAll(/@(everyone|here)\b/g, '@\u200b$1')
    .replaceAll(/^(\s{0,3})(#{1,3}|>{1,3}|-#|[-+])(?=\s)/gm, String.raw`$1\$2`)
    .replaceAll(/^(\s{0,3}\d{1,9})([.)])(?=\s)/gm, String.raw`$1\$2`);
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([\\*_~`|<[\]#>+.)-])/g, '$1');
}
