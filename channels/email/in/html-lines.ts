/** Lines made from pieces of text. Pure. */
import { type BodyLine, isMarked } from './body-line.ts';

/** More than any conversation has; without a bound each line would grow with the nesting. */
const MAX_QUOTES = 20;
const MAX_URL_CHARS = 2_000;
/** What says more about a line than its other pieces. */
const RANK = { own: 0, marked: 1, cited: 2, block: 3, intro: 4, header: 5 } as const;

/**
 * The line being written is kept in pieces: to look at a growing string again and again takes time that
 * grows with its square.
 */
export class TextLines {
  readonly #lines: BodyLine[] = [];
  #pieces: string[] = [];
  /** The line ends with a space, or has nothing in it. */
  #spaced = true;
  #blank = true;
  #origin: BodyLine['origin'] = 'own';
  #quotes = 0;
  /** Where the text of the link begins: line, and piece of it. */
  #link: { readonly url: string; readonly line: number; readonly piece: number } | undefined;

  /** White space is one blank. */
  text(text: string, origin: BodyLine['origin']): void {
    const collapsed = text.replace(/[\s\u00a0]+/g, ' ');
    this.#add(this.#spaced ? collapsed.trimStart() : collapsed, origin);
  }

  /** White space is as it stands there. */
  verbatim(text: string, origin: BodyLine['origin']): void {
    for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
      if (index > 0) this.newline(origin);
      this.#add(line, origin);
    }
  }

  newline(origin: BodyLine['origin']): void {
    if (this.#pieces.length === 0) this.#origin = origin;
    const text = '> '.repeat(this.#quotes) + this.#pieces.join('').trimEnd();
    // Words that look quoted in plain text do so here.
    this.#lines.push({ text, origin: this.#origin === 'own' && isMarked(text) ? 'marked' : this.#origin });
    this.#clear();
  }

  /** Before and after a block: what follows begins a line. */
  block(): void {
    if (!this.#blank) this.newline(this.#origin);
    this.#clear();
  }

  /** How deep the next line is quoted. */
  quotes(depth: number): void {
    this.block();
    this.#quotes = Math.min(MAX_QUOTES, depth);
  }

  link(href: string | undefined): void {
    const url = href !== undefined && /^https?:\/\/\S+$/i.test(href) && href.length <= MAX_URL_CHARS ? href : undefined;
    this.#link = url === undefined ? undefined : { url, line: this.#lines.length, piece: this.#pieces.length };
  }

  /** A link is shown when its text does not show it already. */
  endLink(origin: BodyLine['origin']): void {
    if (!this.#link) return;
    const { url, line, piece } = this.#link;
    const shown = this.#pieces
      .slice(line === this.#lines.length ? piece : 0)
      .join('')
      .trim();
    if (shown !== '' && !url.includes(shown)) this.#add(` (${url})`, origin);
    this.#link = undefined;
  }

  all(): readonly BodyLine[] {
    this.block();
    return this.#lines;
  }

  #add(text: string, origin: BodyLine['origin']): void {
    if (text === '') return;
    this.#pieces.push(text);
    this.#spaced = text.endsWith(' ');
    if (text.trim() === '') return;
    if (this.#blank || RANK[origin] > RANK[this.#origin]) this.#origin = origin;
    this.#blank = false;
  }

  #clear(): void {
    this.#pieces = [];
    this.#spaced = true;
    this.#blank = true;
    this.#origin = 'own';
  }
}
