/** Markdown as the HTML of mail programs: a few tags, inline styles, nothing loaded from the network. */
import { type Dialect, parseMarkdown, renderMarkdown } from '../../kit/markdown.ts';

/** Rejects never; the caller puts the Markdown itself into the text part. */
export function toHtml(markdown: string): string {
  const body = renderMarkdown(parseMarkdown(markdown), HTML);
  return `<div style="font-family:sans-serif;line-height:1.45">\n${body}\n</div>`;
}

const HTML: Dialect = {
  text: (value) => escapeHtml(value).replaceAll('\n', '<br>\n'),
  strong: (inner) => `<strong>${inner}</strong>`,
  emphasis: (inner) => `<em>${inner}</em>`,
  strike: (inner) => `<s>${inner}</s>`,
  inlineCode: (value) => `<code>${escapeHtml(value)}</code>`,
  codeBlock: (value) => `<pre style="background:#f4f4f4;padding:8px;overflow:auto"><code>${escapeHtml(value)}</code></pre>`,
  link: (inner, url) => (isSafe(url) ? `<a href="${escapeHtml(url)}">${inner}</a>` : inner),
  // An image would be fetched from a server that learns who reads the mail, and when: a link instead.
  image: (alt, url) => (isSafe(url) ? `<a href="${escapeHtml(url)}">${escapeHtml(alt || url)}</a>` : escapeHtml(alt)),
  heading: (inner, depth) => `<h${depth}>${inner}</h${depth}>`,
  quote: (inner) => `<blockquote style="border-left:3px solid #ccc;margin:0;padding-left:10px">${inner}</blockquote>`,
  listItem: (inner, { checked, ordered, number }) =>
    `<li${ordered ? ` value="${number}"` : ''}>${checked === undefined ? '' : checked ? '☑ ' : '☐ '}${inner}</li>`,
  list: (inner, ordered) => (ordered ? `<ol>${inner}</ol>` : `<ul>${inner}</ul>`),
  table: ({ header, rows }) => {
    const row = (cells: readonly string[], tag: 'th' | 'td') =>
      `<tr>${cells.map((cell) => `<${tag} style="border:1px solid #ccc;padding:4px 8px">${cell}</${tag}>`).join('')}</tr>`;
    return `<table style="border-collapse:collapse">${row(header, 'th')}${rows.map((cells) => row(cells, 'td')).join('')}</table>`;
  },
  rule: '<hr>',
  lineBreak: '<br>\n',
  paragraph: (inner) => `<p>${inner}</p>`,
};

function isSafe(url: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(url);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
