/** Markdown -> the HTML subset of the Bot API (https://core.telegram.org/bots/api#html-style), spec D4. */
import { listLine, tableLines } from '../../kit/dialect-parts.ts';
import { type Dialect, parseMarkdown, renderMarkdown } from '../../kit/markdown.ts';

/** Never rejects. The platform may still refuse the result; then the raw text is sent. */
export async function toTelegramHtml(markdown: string): Promise<string> {
  return renderMarkdown(await parseMarkdown(markdown), dialect).trim();
}

/** Code units left once the platform has parsed the HTML: what its limits of 4096 and 1024 count. */
export function visibleLength(html: string): number {
  return html.replace(/<[^>]*>/g, '').replace(/&(?:lt|gt|amp|quot);/g, '.').length;
}

/** The schemes the apps open. Others, `javascript:` above all, are shown as words. */
const SAFE_URL = /^(?:https?|tg|mailto|tel):/i;

const dialect: Dialect = {
  text: escapeHtml,
  strong: (inner) => `<b>${inner}</b>`,
  emphasis: (inner) => `<i>${inner}</i>`,
  strike: (inner) => `<s>${inner}</s>`,
  inlineCode: (value) => `<code>${escapeHtml(value)}</code>`,
  codeBlock: (value, language) => {
    const code = escapeHtml(value);
    return language ? `<pre><code class="language-${escapeHtml(language)}">${code}</code></pre>` : `<pre>${code}</pre>`;
  },
  link: toLink,
  image: (alt, url) => toLink(escapeHtml(alt || url), url),
  heading: (inner) => (inner === '' ? '' : `<b>${inner}</b>`),
  // A quote in a quote is an error to the platform.
  quote: (inner, depth) => (depth === 0 ? `<blockquote>${inner}</blockquote>` : inner),
  listItem: listLine('•'),
  table: tableLines((cell) => `<b>${cell}</b>`),
  rule: '———',
  lineBreak: '\n',
};

function toLink(inner: string, url: string): string {
  if (inner === '') return '';
  return SAFE_URL.test(url)
    ? `<a href="${escapeHtml(url)}">${inner}</a>`
    : `${inner}${url === '' ? '' : ` (${escapeHtml(url)})`}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
