/** Markdown -> blocks of styled runs, for platforms that take a structure in place of a text with marks. */
import { type Dialect, parseMarkdown, type Root, renderMarkdown, type TableText } from './markdown.ts';

export type Style = 'bold' | 'italic' | 'strike' | 'code';

export interface Run {
  readonly text: string;
  readonly styles: readonly Style[];
  /** Untrusted. */
  readonly url?: string;
}

export type Line = readonly Run[];

export type Block =
  /** `quoted`: how many quotes the line is in. */
  | { readonly kind: 'line'; readonly runs: Line; readonly quoted: number }
  | { readonly kind: 'code'; readonly text: string; readonly language?: string }
  /** Cells of one line each. */
  | { readonly kind: 'table'; readonly header: readonly Line[]; readonly rows: readonly (readonly Line[])[] }
  | { readonly kind: 'rule' };

export interface RichText {
  readonly blocks: readonly Block[];
  /** Holds a heading, list, quote, code block, table or rule. */
  readonly structured: boolean;
}

// The renderer of the kit makes one string. Control characters carry the structure through it; the text
// brings none, since it loses its own.
const OPEN = '\u0001';
const CLOSE = '\u0002';
const URL = '\u0003';
const WORDS = '\u0004';
const CODE = '\u000e';
const CODE_TEXT = '\u000f';
const TABLE = '\u0010';
const RULE = '\u0011';
const END = '\u0012';
const QUOTE = '\u0013';

/** Where a run of plain text ends; its control characters but line feed and tab are marks. */
const NEXT_MARK = /(?!\t)\p{Cc}/gu;

const MARKS: Readonly<Record<string, Style>> = { b: 'bold', i: 'italic', s: 'strike', c: 'code' };

/** Never rejects for any text. */
export function toRichText(markdown: string): RichText {
  return richTextOf(parseMarkdown(markdown));
}

/** The same of a tree, or of a part of one. */
export function richTextOf(root: Root): RichText {
  const seen = { structure: false };
  const marked = renderMarkdown(root, createDialect(seen)).replace(/^\n+/, '').trimEnd();
  return { blocks: toBlocks(marked), structured: seen.structure };
}

function createDialect(seen: { structure: boolean }): Dialect {
  const structured = (marked: string): string => {
    seen.structure = true;
    return marked;
  };
  const styled = (mark: string, inner: string): string => (inner === '' ? '' : `${OPEN}${mark}${inner}${CLOSE}`);
  return {
    text: clean,
    strong: (inner) => styled('b', inner),
    emphasis: (inner) => styled('i', inner),
    strike: (inner) => styled('s', inner),
    inlineCode: (value) => styled('c', clean(value)),
    codeBlock: (value, language) => structured(`${CODE}${clean(language ?? '')}${CODE_TEXT}${clean(value)}${END}`),
    link: (inner, url) => (inner === '' ? '' : `${URL}${clean(url)}${WORDS}${inner}${END}`),
    // A picture is not loaded by itself: whoever wants it opens the link (reliability.md A31).
    image: (alt, url) => `${URL}${clean(url)}${WORDS}${clean(alt || url)}${END}`,
    heading: (inner) => structured(styled('b', inner)),
    quote: (inner) => structured(inner.replace(/^/gm, QUOTE)),
    listItem: (inner, { ordered, number, depth, checked }) => {
      const box = checked === undefined ? '' : checked ? '☑ ' : '☐ ';
      // No-break spaces: the clients drop ordinary ones at the beginning of a line.
      return structured(`${'\u00a0\u00a0\u00a0\u00a0'.repeat(depth)}${ordered ? `${number}.` : '•'} ${box}${inner}`);
    },
    itemIndent: '\u00a0\u00a0\u00a0\u00a0',
    table: (table) => structured(`${TABLE}${JSON.stringify(table)}${END}`),
    get rule() {
      return structured(RULE);
    },
    lineBreak: '\n',
  };
}

/** Control characters mean nothing to a reader, and something to us. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}]/gu, (char) => (char === '\n' || char === '\t' ? char : ''));
}

function toBlocks(marked: string): readonly Block[] {
  return marked === '' ? [] : new Reader(marked).blocks();
}

/** Reads the marks back. Whatever is out of place is text. */
class Reader {
  readonly #source: string;
  readonly #blocks: Block[] = [];
  #runs: Run[] = [];
  #text = '';
  #styles: Style[] = [];
  #urls: string[] = [];
  #quoted = 0;

  constructor(source: string) {
    this.#source = source;
  }

  blocks(): readonly Block[] {
    let at = 0;
    while (at < this.#source.length) at = this.#step(at);
    this.#flush();
    const last = this.#blocks.at(-1);
    // Behind a block at the very end there is no line.
    if (this.#runs.length > 0 || last === undefined || last.kind === 'line') this.#endLine();
    return this.#blocks;
  }

  #step(at: number): number {
    const char = this.#source[at] ?? '';
    const end = (from: number): number => {
      const found = this.#source.indexOf(END, from);
      return found === -1 ? this.#source.length : found;
    };
    switch (char) {
      case '\n':
        this.#endLine();
        return at + 1;
      case QUOTE:
        this.#quoted += 1;
        return at + 1;
      case OPEN:
        this.#flush();
        this.#styles.push(MARKS[this.#source[at + 1] ?? ''] ?? 'bold');
        return at + 2;
      case CLOSE:
        this.#flush();
        this.#styles.pop();
        return at + 1;
      case URL: {
        this.#flush();
        const words = this.#source.indexOf(WORDS, at);
        this.#urls.push(this.#source.slice(at + 1, words));
        return words + 1;
      }
      case END:
        this.#flush();
        this.#urls.pop();
        return at + 1;
      case CODE: {
        const close = end(at);
        const [language = '', text = ''] = this.#source.slice(at + 1, close).split(CODE_TEXT);
        this.#block({ kind: 'code', text: text.replaceAll(QUOTE, ''), ...(language !== '' && { language }) });
        return this.#afterBlock(close + 1);
      }
      case TABLE: {
        const close = end(at);
        this.#block(toTable(JSON.parse(this.#source.slice(at + 1, close)) as TableText));
        return this.#afterBlock(close + 1);
      }
      case RULE:
        this.#block({ kind: 'rule' });
        return this.#afterBlock(at + 1);
      default: {
        NEXT_MARK.lastIndex = at + 1;
        const next = NEXT_MARK.exec(this.#source)?.index ?? this.#source.length;
        this.#text += this.#source.slice(at, next);
        return next;
      }
    }
  }

  #flush(): void {
    if (this.#text === '') return;
    const url = this.#urls.at(-1);
    this.#runs.push({ text: this.#text, styles: [...new Set(this.#styles)], ...(url !== undefined && { url }) });
    this.#text = '';
  }

  #endLine(): void {
    this.#flush();
    this.#blocks.push({ kind: 'line', runs: this.#runs, quoted: this.#quoted });
    this.#runs = [];
    this.#quoted = 0;
  }

  #block(block: Block): void {
    this.#flush();
    if (this.#runs.length > 0) this.#endLine();
    this.#quoted = 0;
    this.#blocks.push(block);
  }

  /** A block brings its own distance: the line break behind it is its end and not an empty line. */
  #afterBlock(at: number): number {
    return this.#source[at] === '\n' ? at + 1 : at;
  }
}

function toTable({ header, rows }: TableText): Block {
  const toLine = (cell: string): Line =>
    toBlocks(cell.replaceAll('\n', ' ')).flatMap((block) => (block.kind === 'line' ? block.runs : []));
  return { kind: 'table', header: header.map(toLine), rows: rows.map((row) => row.map(toLine)) };
}

export function textOfLine(line: Line): string {
  return line.map(({ text }) => text).join('');
}
