/**
 * Markdown -> what WeCom shows (https://developer.work.weixin.qq.com/document/path/90236, appendix):
 * headings, bold, links, code within a line and quotes, and no way to escape any of them.
 */
import { listLine, tableLines } from '../../kit/dialect-parts.ts';
import { type Dialect, type MarkdownNode, parseMarkdown, renderMarkdown } from '../../kit/markdown.ts';

export interface Formatted {
  readonly msgtype: 'markdown' | 'text';
  readonly content: string;
}

/**
 * Never rejects. The result is a Markdown message only where there is something to format and no literal text
 * would be taken for a mark. Else it is a text message, which is shown as it stands, can be copied whole, and
 * is readable in WeChat too.
 */
export function toWecom(markdown: string, allowMarkdown: boolean): Formatted {
  const root = parseMarkdown(markdown);
  const msgtype = allowMarkdown && worthMarkdown(root) ? 'markdown' : 'text';
  return { msgtype, content: printable(renderMarkdown(root, msgtype === 'markdown' ? MARKDOWN : WORDS)).trim() };
}

/** Markdown as words alone, for places without any markup. */
export function toWords(markdown: string): string {
  return printable(renderMarkdown(parseMarkdown(markdown), WORDS)).trim();
}

/** Markdown as it was written, for when it cannot be rendered: nothing in it is taken for a link. */
export function asWritten(markdown: string): string {
  return printable(WORDS.text(markdown));
}

/** Without what JSON would have to escape as \uXXXX, which the platform refuses (40033). */
export function printable(text: string): string {
  return text.toWellFormed().replace(/(?![\n\t])\p{Cc}/gu, '');
}

/** Marks that the platform would see in text that has none. */
const MISREAD = /\*\*|^\*|\*$|`|\]\(|<\/?(?:font|a|@)|^[^\S\n\r\u2028\u2029]*(?:#{1,6}\s|>)/im;
const FORMATS: ReadonlySet<string> = new Set(['strong', 'heading', 'link', 'linkReference', 'inlineCode', 'blockquote']);

function worthMarkdown(root: MarkdownNode): boolean {
  let worth = false;
  const waiting: MarkdownNode[] = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    // Lines of code are full of marks, and there is no form for a block of them.
    if (node.type === 'code') return false;
    if ((node.type === 'text' || node.type === 'inlineCode' || node.type === 'html') && MISREAD.test(node.value)) return false;
    if (FORMATS.has(node.type)) worth = true;
    if ('children' in node) waiting.push(...node.children);
  }
  return worth;
}

/** The schemes the apps open. Others, `javascript:` above all, are shown as words. */
const SAFE_URL = /^https?:\/\//i;

const WORDS: Dialect = {
  // Text messages know one mark: `<a href>`. An invisible sign keeps a literal one from becoming a link that
  // says what it likes.
  text: (value) => value.replace(/<(?=a\s)/gi, '<\u200b'),
  strong: (inner) => inner,
  emphasis: (inner) => inner,
  strike: (inner) => `~${inner}~`,
  inlineCode: (value) => WORDS.text(value),
  codeBlock: (value) => WORDS.text(value),
  link: (inner, url) => (url === '' || inner === url ? inner : inner === '' ? WORDS.text(url) : `${inner} (${WORDS.text(url)})`),
  image: (alt, url) => WORDS.link(WORDS.text(alt), url),
  heading: (inner) => inner,
  quote: (inner) => inner.replace(/^/gm, '| '),
  listItem: listLine('•'),
  itemIndent: '  ',
  table: tableLines((cell) => cell),
  rule: '———',
  lineBreak: '\n',
};

const MARKDOWN: Dialect = {
  ...WORDS,
  text: (value) => value,
  // A mark does not reach over a line.
  strong: (inner) => inner.replace(/[^\n]+/g, '**$&**'),
  inlineCode: (value) => `\`${value.replace(/\s+/g, ' ')}\``,
  link: (inner, url) => {
    if (!SAFE_URL.test(url) || inner === '' || /[[\]\n]/.test(inner)) return WORDS.link(inner, url);
    return `[${inner}](${url.replace(/[()\s<>]/g, (char) => encodeURIComponent(char).replace('(', '%28').replace(')', '%29'))})`;
  },
  image: (alt, url) => MARKDOWN.link(alt || url, url),
  heading: (inner, depth) => (inner === '' ? '' : `${'#'.repeat(depth)} ${inner.replaceAll('\n', ' ')}`),
  // A quote in a quote has no form of its own.
  quote: (inner, depth) => (depth === 0 ? inner.replace(/^/gm, '> ') : inner),
  table: tableLines((cell) => (cell === '' ? cell : `**${cell}**`)),
  boldHeads: true,
};
