/**
 * Markdown (CommonMark + GFM) -> tree. The only file that loads the parser, and only when it is first needed.
 * Its version 14, since 15 takes twice as long: it was compiled so that each field of each token is a call.
 */
import { createRequire } from 'node:module';
import type MarkdownIt from 'markdown-it';
import type Token from 'markdown-it/lib/token.mjs';
import { readAddresses } from './markdown-addresses.ts';
import { addRules } from './markdown-rules.ts';

/** 0-based lines of the source; `end` is the last one that belongs to the node. Absent inside paragraphs. */
interface Place {
  readonly start: number;
  readonly end: number;
}

interface Parent<Type extends string, Child> {
  readonly type: Type;
  readonly children: Child[];
  readonly place?: Place;
}

interface Leaf<Type extends string> {
  readonly type: Type;
  readonly value: string;
  readonly place?: Place;
}

export type TableCell = Parent<'tableCell', MarkdownNode>;
export type TableRow = Parent<'tableRow', TableCell>;
export type ListItem = Parent<'listItem', MarkdownNode> & { readonly checked?: boolean };
export type Root = Parent<'root', MarkdownNode>;
/** `html` is raw HTML; `text` may hold line feeds. An unused definition or footnote is a paragraph. */
export type MarkdownNode =
  | Root
  | Parent<'paragraph' | 'blockquote' | 'strong' | 'emphasis' | 'delete', MarkdownNode>
  | (Parent<'heading', MarkdownNode> & { readonly depth: number })
  | (Parent<'list', ListItem> & { readonly ordered: boolean; readonly start: number })
  | ListItem
  | Parent<'table', TableRow>
  | TableRow
  | TableCell
  | (Parent<'link', MarkdownNode> & { readonly url: string })
  | (Leaf<'image'> & { readonly url: string })
  | (Leaf<'code'> & { readonly language?: string })
  | Leaf<'text' | 'inlineCode' | 'html'>
  | (Parent<'thematicBreak' | 'break', never> & { readonly children: [] });

/** Deeper than any text that is short enough to be parsed at all: what is nested deeper would be left out. */
const MAX_NESTING = 1_000;

/** Loads the parser. It takes every text in bounded time but absurd ones: `parseMarkdown` keeps them away. */
export function loadParser(): (text: string) => Root {
  // At once and not as a promise: how long a text is once it is rendered is asked where an answer is cut,
  // within a commit.
  const Parser = createRequire(import.meta.url)('markdown-it') as typeof MarkdownIt;
  const parser = new Parser({ html: true, linkify: true });
  // An option of the parser that its types do not name.
  Object.assign(parser.options, { maxNesting: MAX_NESTING });
  readAddresses(parser);
  keepDefinitions(parser);
  addRules(parser);
  return (text) => {
    const definitions = new Definitions();
    const tokens = parser.parse(text, { references: definitions.references, definitions });
    return { type: 'root', children: readBlocks({ tokens, at: 0 }, definitions) };
  };
}

/** The definitions of one text, by label, and which of them something in it refers to. */
class Definitions {
  readonly #known = new Map<string, { title: string; href: string }>();
  readonly #used = new Set<string>();
  /** While a definition is read: its label, once it is added; '' for one that nothing can refer to. */
  #reading: string | undefined;

  readonly references: Record<string, { title: string; href: string }> = new Proxy(
    {},
    {
      get: (_none, label) => {
        const known = this.#known.get(String(label));
        // A definition asks as well, whether its label is taken: that refers to nothing.
        if (known && this.#reading === undefined) this.#used.add(String(label));
        return known;
      },
      set: (_none, label, value) => {
        // A footnote is no address.
        if (String(label).startsWith('^')) return true;
        this.#reading = String(label);
        this.#known.set(this.#reading, value);
        return true;
      },
    },
  );

  isUsed(label: string): boolean {
    return this.#used.has(label);
  }

  /** The label of the definition that `read` takes; undefined where it takes none. */
  labelOf(read: () => boolean): string | undefined {
    this.#reading = '';
    try {
      return read() ? this.#reading : undefined;
    } finally {
      this.#reading = undefined;
    }
  }
}

/** The parser takes definitions out of the text. Here each leaves a token with all of its lines. */
function keepDefinitions({ block }: MarkdownIt): void {
  const reference = block.ruler.getRules('').find(({ name }) => name === 'reference');
  if (!reference) throw new Error('markdown-it has no rule for definitions');
  block.ruler.at('reference', (state, from, end, silent) => {
    const { definitions } = state.env;
    if (!(definitions instanceof Definitions)) return reference(state, from, end, silent);
    const label = definitions.labelOf(() => reference(state, from, end, silent));
    if (label === undefined || silent) return label !== undefined;
    const token = state.push('definition', '', 0);
    token.content = state.getLines(from, state.line, state.blkIndent, false).trim();
    token.info = label;
    token.map = [from, state.line];
    return true;
  });
}

/** Tokens are a flat list in which what opens is closed. */
interface Reader {
  readonly tokens: readonly Token[];
  at: number;
}

/** Up to the token that closes what these are in, which is taken as well. */
function readBlocks(reader: Reader, definitions: Definitions): MarkdownNode[] {
  const nodes: MarkdownNode[] = [];
  for (let token = reader.tokens[reader.at]; token; token = reader.tokens[reader.at]) {
    reader.at += 1;
    if (token.nesting < 0) return nodes;
    const node = readBlock(token, reader, definitions);
    if (node) nodes.push(node);
  }
  return nodes;
}

function readBlock(token: Token, reader: Reader, definitions: Definitions): MarkdownNode | undefined {
  const place = token.map ? { start: token.map[0], end: token.map[1] - 1 } : undefined;
  const at = place && { place };
  switch (token.type) {
    case 'inline':
      return { type: 'paragraph', children: readInlines({ tokens: token.children ?? [], at: 0 }) };
    case 'definition':
      if (definitions.isUsed(token.info)) return undefined;
      return { type: 'paragraph', children: [{ type: 'text', value: token.content }], ...at };
    case 'fence':
      return { type: 'code', value: withoutEnd(token.content), ...languageOf(token.info), ...at };
    case 'code_block':
      return { type: 'code', value: withoutEnd(token.content), ...at };
    case 'html_block':
      return { type: 'html', value: withoutEnd(token.content), ...at };
    case 'hr':
      return { type: 'thematicBreak', children: [], ...at };
    default:
      return readContainer(token, readBlocks(reader, definitions), place);
  }
}

function readContainer(token: Token, inside: MarkdownNode[], place: Place | undefined): MarkdownNode {
  const at = place && { place: { start: place.start, end: endOf(inside) ?? place.start } };
  switch (token.type) {
    case 'heading_open':
      return { type: 'heading', depth: Number(token.tag.slice(1)), children: wordsOf(inside), ...(place && { place }) };
    case 'blockquote_open':
      return { type: 'blockquote', children: inside, ...at };
    case 'bullet_list_open':
    case 'ordered_list_open': {
      const start = Number(token.attrGet('start') ?? 1);
      return { type: 'list', ordered: token.type.startsWith('o'), start, children: inside as ListItem[], ...at };
    }
    case 'list_item_open':
      return { type: 'listItem', children: inside, ...takeBox(inside), ...at };
    case 'table_open':
      return {
        type: 'table',
        children: inside.flatMap((part) => (part.type === 'table' ? part.children : [])),
        ...(place && { place }),
      };
    case 'thead_open':
    case 'tbody_open':
      return { type: 'table', children: inside as TableRow[] };
    case 'tr_open':
      return { type: 'tableRow', children: withoutPadding(inside as TableCell[]) };
    case 'th_open':
    case 'td_open':
      return { type: 'tableCell', children: wordsOf(inside) };
    default:
      return { type: 'paragraph', children: wordsOf(inside), ...(place && { place }) };
  }
}

/** The parser fills rows that are shorter than the header. */
function withoutPadding(cells: TableCell[]): TableCell[] {
  return cells.slice(0, cells.findLastIndex(({ children }) => children.length > 0) + 1);
}

/** What blocks of words have inside is one `inline` token, read as a paragraph. */
function wordsOf([inline]: MarkdownNode[]): MarkdownNode[] {
  return inline?.type === 'paragraph' ? inline.children : [];
}

function endOf(nodes: readonly MarkdownNode[]): number | undefined {
  const last = nodes.at(-1);
  return last && 'place' in last ? last.place?.end : undefined;
}

/** GFM 5.3: a task's box stands in front of its words. */
function takeBox([first]: readonly MarkdownNode[]): { checked?: boolean } {
  const words = first?.type === 'paragraph' ? first.children[0] : undefined;
  const box = words?.type === 'text' ? /^\[([ xX])\]\s+(?=\S)|^\[([ xX])\]\s+$/.exec(words.value) : null;
  if (!box || first?.type !== 'paragraph' || words?.type !== 'text') return {};
  if (box[2] !== undefined && first.children.length === 1) return {};
  first.children[0] = { type: 'text', value: words.value.slice(box[0].length) };
  return { checked: (box[1] ?? box[2]) !== ' ' };
}

function languageOf(info: string): { language?: string } {
  const [language = ''] = info.trim().split(/\s/, 1);
  return language === '' ? {} : { language };
}

function withoutEnd(content: string): string {
  return content.endsWith('\n') ? content.slice(0, -1) : content;
}

function readInlines(reader: Reader): MarkdownNode[] {
  const nodes: MarkdownNode[] = [];
  const say = (value: string): void => {
    const last = nodes.at(-1);
    if (last?.type === 'text') nodes[nodes.length - 1] = { type: 'text', value: last.value + value };
    else if (value !== '') nodes.push({ type: 'text', value });
  };
  for (let token = reader.tokens[reader.at]; token; token = reader.tokens[reader.at]) {
    reader.at += 1;
    if (token.nesting < 0) return nodes;
    if (token.type === 'text') say(token.content);
    else if (token.type === 'softbreak') say('\n');
    else {
      const node = readInline(token, reader);
      const [before, address] = token.markup === 'linkify' ? bareAddress(node) : ['', node];
      say(before);
      nodes.push(address);
    }
  }
  return nodes;
}

/** GFM 6.9 allows fewer characters in a part of a mail address than the parser: marks before it are words. */
function bareAddress(node: MarkdownNode): [string, MarkdownNode] {
  const words = node.type === 'link' && node.url.startsWith('mailto:') ? node.children[0] : undefined;
  const [, before, address] = (words?.type === 'text' && /^(?!mailto:)(.*[^\w.+-])([\w.+-]+@.*)$/i.exec(words.value)) || [];
  if (before === undefined || address === undefined) return ['', node];
  return [before, { type: 'link', url: `mailto:${address}`, children: [{ type: 'text', value: address }] }];
}

function readInline(token: Token, reader: Reader): MarkdownNode {
  switch (token.type) {
    case 'code_inline':
      return { type: 'inlineCode', value: token.content };
    case 'hardbreak':
      return { type: 'break', children: [] };
    case 'image':
      return { type: 'image', value: altOf(token.children ?? []), url: String(token.attrGet('src') ?? '') };
    case 'html_inline':
      return { type: 'html', value: token.content };
    case 'strong_open':
      return { type: 'strong', children: readInlines(reader) };
    case 'em_open':
      return { type: 'emphasis', children: readInlines(reader) };
    case 's_open':
      return { type: 'delete', children: readInlines(reader) };
    case 'link_open':
      return { type: 'link', url: String(token.attrGet('href') ?? ''), children: readInlines(reader) };
    default:
      return { type: 'text', value: token.content };
  }
}

/** The words of a picture's label without their marks. */
function altOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ type, content, children }) => (type === 'image' ? altOf(children ?? []) : type === 'softbreak' ? '\n' : content))
    .join('');
}
