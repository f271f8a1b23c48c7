/** HTML mail bodies as text. Pure, one pass over the input: a hostile body costs no more than a friendly one. */

const HIDDEN = new Set(['script', 'style', 'head', 'title', 'template', 'noscript']);
const BLOCKS = new Set([
  ...[
    'address',
    'article',
    'blockquote',
    'div',
    'dl',
    'fieldset',
    'form',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'ol',
    'p',
    'pre',
  ],
  ...['section', 'table', 'tr', 'ul'],
]);
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', copy: '©', reg: '®', trade: '™', hellip: '…', euro: '€' },
  ...{ ndash: '–', mdash: '—', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', bdquo: '„', laquo: '«', raquo: '»', bull: '•' },
  ...{ auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß', eacute: 'é', egrave: 'è', agrave: 'à' },
  ...{ ccedil: 'ç', ntilde: 'ñ', aring: 'å', oslash: 'ø', aelig: 'æ', deg: '°', middot: '·', times: '×', zwnj: '', shy: '' },
};

/** Quotations (`blockquote`, Gmail's quote block) come out with `> `, so that the same rules strip them as in plain text. */
export function htmlToText(html: string): string {
  const out = new Lines();
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    out.text(decodeEntities(html.slice(at, open < 0 ? html.length : open)));
    if (open < 0) break;
    if (html.startsWith('<!--', open)) {
      const end = html.indexOf('-->', open + 4);
      at = end < 0 ? html.length : end + 3;
      continue;
    }
    const close = html.indexOf('>', open + 1);
    if (close < 0) break; // an unfinished tag at the end
    const tag = /^(\/?)([a-z][a-z0-9]*)/i.exec(html.slice(open + 1, open + 24));
    at = close + 1;
    if (!tag) continue;
    const name = (tag[2] ?? '').toLowerCase();
    if (tag[1] === '' && HIDDEN.has(name)) at = afterHidden(html, name, at);
    else applyTag(out, name, tag[1] === '/', html.slice(open, close));
  }
  return out.toString();
}

function afterHidden(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}\\b`, 'gi');
  end.lastIndex = from;
  const match = end.exec(html);
  if (!match) return html.length;
  const close = html.indexOf('>', match.index);
  return close < 0 ? html.length : close + 1;
}

function applyTag(out: Lines, name: string, closing: boolean, tag: string): void {
  if (name === 'br') out.newline();
  else if (name === 'li' && !closing) out.block('- ');
  else if (name === 'td' || name === 'th') out.text(' ');
  else if (name === 'a') out.link(closing, /\bhref\s*=\s*["']?(https?:\/\/[^\s"'>]{1,2000})/i.exec(tag.slice(0, 3_000))?.[1]);
  else if (name === 'blockquote') out.quote(closing);
  else if (BLOCKS.has(name)) out.block('');
}

/** The line being written is kept in pieces: to look at a growing string again and again takes time that grows with its square. */
class Lines {
  readonly #lines: string[] = [];
  #pieces: string[] = [];
  /** The line ends with a space, or has nothing in it. */
  #spaced = true;
  #blank = true;
  #quotes = 0;
  /** Where the text of the link begins: line, and piece of it. */
  #link: { readonly url: string; readonly line: number; readonly piece: number } | undefined;

  text(text: string): void {
    const collapsed = text.replace(/[\s\u00a0]+/g, ' ');
    this.#add(this.#spaced ? collapsed.trimStart() : collapsed);
  }

  newline(): void {
    this.#lines.push('> '.repeat(this.#quotes) + this.#pieces.join('').trimEnd());
    this.#clear();
  }

  block(prefix: string): void {
    if (!this.#blank) this.newline();
    this.#clear();
    this.#add(prefix);
  }

  /** A link is shown when its text does not show it already. */
  link(closing: boolean, url: string | undefined): void {
    if (!closing) {
      this.#link = url === undefined ? undefined : { url, line: this.#lines.length, piece: this.#pieces.length };
    } else if (this.#link) {
      const { url: target, line, piece } = this.#link;
      const shown = this.#pieces
        .slice(line === this.#lines.length ? piece : 0)
        .join('')
        .trim();
      if (shown !== '' && !target.includes(shown)) this.#add(` (${target})`);
      this.#link = undefined;
    }
  }

  quote(closing: boolean): void {
    this.block('');
    // 20 levels are more than any conversation has; without a bound each line would grow with the nesting.
    this.#quotes = Math.min(20, Math.max(0, this.#quotes + (closing ? -1 : 1)));
  }

  #add(text: string): void {
    if (text === '') return;
    this.#pieces.push(text);
    this.#spaced = text.endsWith(' ');
    this.#blank &&= text.trim() === '';
  }

  #clear(): void {
    this.#pieces = [];
    this.#spaced = true;
    this.#blank = true;
  }

  toString(): string {
    this.block('');
    return this.#lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
  }
}

function decodeEntities(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : '\ufffd';
  });
}
