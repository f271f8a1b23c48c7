/** Markdown (CommonMark + GFM) -> tree -> a platform's dialect. */
import { loadParser, type MarkdownNode, type Root } from './markdown-tree.ts';

export type { MarkdownNode, Root } from './markdown-tree.ts';

type Of<Type extends MarkdownNode['type']> = Extract<MarkdownNode, { type: Type }>;

export interface ListItemPlace {
  readonly ordered: boolean;
  /** The number an ordered item shows; the 1-based place in an unordered list. */
  readonly number: number;
  /** 0 for a list that is in no other list. */
  readonly depth: number;
  /** GFM task list; absent for an ordinary item. */
  readonly checked?: boolean;
}

export interface TableText {
  /** Rendered cells. Rows may be shorter or longer than the header. */
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/**
 * How one platform writes each construct. `inner` is rendered already and must not be escaped again; every other string is raw
 * and must be. Methods are pure and return no surrounding blank lines: the frame sets those.
 */
export interface Dialect {
  /** Escapes. Also gets raw HTML of the source, which no dialect passes through (reliability.md 3: it would vanish or inject). */
  text(value: string): string;
  strong(inner: string): string;
  emphasis(inner: string): string;
  strike(inner: string): string;
  inlineCode(value: string): string;
  /** `language` is the first word of the fence's info string. */
  codeBlock(value: string, language: string | undefined): string;
  /** `url` is untrusted: a dialect shows only schemes its platform opens safely, else the text alone. */
  link(inner: string, url: string): string;
  image(alt: string, url: string): string;
  heading(inner: string, depth: number): string;
  /** `depth` is 0 for a quote that is in no other quote. */
  quote(inner: string, depth: number): string;
  /** The marker and its indentation included; nested lists are in `inner`, after a newline. */
  listItem(inner: string, place: ListItemPlace): string;
  table(table: TableText): string;
  /** Thematic break. */
  readonly rule: string;
  /** Hard break, and `<br>`. */
  readonly lineBreak: string;
  /** Wraps a paragraph or a whole list; omit where the platform needs nothing around them. */
  paragraph?(inner: string): string;
  list?(inner: string, ordered: boolean): string;
}

/** The parser is quadratic on some hostile text (0.2 s at this size, 1 s at 60 000): larger text is shown as it was written. */
const MAX_PARSED = 16_384;
/** A line that opens 33 quotes or lists. Each step takes at least one marker and has one way to match, so the test is linear. */
const NESTED_ABSURDLY = /^(?:[ \t]{0,8}(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){33}/m;
/** Emphasis is resolved in quadratic time over a run of its marks; a ruled line is shorter than this. */
const MARK_RUN = /[*_~]{257}/;
/** Every `![` looks for its end again, and every row is filled up to the columns of its table: each a second at the largest size. */
const WIDE_TABLE = /^(?:[^|\n]*\|){257}/m;
const MOST_PICTURES = 500;
/**
 * One paragraph of words, in which no construct can begin: every line starts with a letter and holds no mark of Markdown. Most
 * short answers are like this, and parsing one costs as much as sending it. Addresses become links, so they are no words.
 */
const WORDS = wordsOnly(String.raw`[\p{L}\p{M}\p{N}\p{Extended_Pictographic} .,;:?!'"“”‘’«»„()%/–—…-]`);
const ADDRESS = /\/\/|www\./i;
/** Rendering recurses; what is nested deeper is shown as its text. */
const MAX_DEPTH = 64;

/** Parses; never rejects for any text. Text too large or nested absurdly comes back as one literal paragraph. */
export async function parseMarkdown(text: string): Promise<Root> {
  if (isAbsurd(text) || (WORDS.test(text) && !ADDRESS.test(text))) return literal(text);
  parser ??= loadParser();
  try {
    return (await parser)(text);
  } catch {
    // Its code could not be read (files being replaced, too many open): this text goes out as it is, the next tries again.
    parser = undefined;
    return literal(text);
  }
}

function isAbsurd(text: string): boolean {
  if (text.length > MAX_PARSED || MARK_RUN.test(text) || NESTED_ABSURDLY.test(text) || WIDE_TABLE.test(text)) return true;
  let pictures = 0;
  for (let at = text.indexOf('!['); at >= 0; at = text.indexOf('![', at + 2)) pictures += 1;
  return pictures > MOST_PICTURES;
}

function wordsOnly(word: string): RegExp {
  const line = String.raw`\p{L}${word}*(?<! )`;
  return new RegExp(String.raw`^${line}(?:\n${line})*$`, 'u');
}

let parser: Promise<(text: string) => Root> | undefined;

/** The tree as one string in the dialect. Pure; loses no visible text: HTML and unused definitions appear as text. */
export function renderMarkdown(root: Root, dialect: Dialect): string {
  return renderBlocks(root.children, { dialect, depth: 0, lists: 0, quotes: 0 });
}

interface Frame {
  readonly dialect: Dialect;
  readonly depth: number;
  readonly lists: number;
  readonly quotes: number;
}

/** Blocks keep the distance they had in the source: one newline when they touched, an empty line otherwise. */
function renderBlocks(nodes: readonly MarkdownNode[], frame: Frame): string {
  let out = '';
  let lastLine: number | undefined;
  for (const node of nodes) {
    const rendered = renderBlock(node, frame);
    if (rendered === '') continue;
    const place = 'place' in node ? node.place : undefined;
    if (lastLine !== undefined) out += place?.start === lastLine + 1 ? '\n' : '\n\n';
    out += rendered;
    lastLine = place?.end ?? Number.NaN;
  }
  return out;
}

function renderBlock(node: MarkdownNode, outer: Frame): string {
  const { dialect } = outer;
  const frame = { ...outer, depth: outer.depth + 1 };
  if (frame.depth > MAX_DEPTH) return dialect.text(textOf(node));
  switch (node.type) {
    case 'paragraph': {
      const inner = renderInlines(node.children, frame);
      return dialect.paragraph ? dialect.paragraph(inner) : inner;
    }
    case 'heading':
      return dialect.heading(renderInlines(node.children, frame), node.depth);
    case 'code':
      return dialect.codeBlock(node.value, node.language);
    case 'blockquote':
      return dialect.quote(renderBlocks(node.children, { ...frame, quotes: frame.quotes + 1 }), outer.quotes);
    case 'list':
      return renderList(node, frame);
    case 'table':
      return renderTable(node, frame);
    case 'thematicBreak':
      return dialect.rule;
    default:
      return renderInline(node, outer);
  }
}

function renderList(node: Of<'list'>, frame: Frame): string {
  const { ordered, start } = node;
  const items = node.children.map((item, index) =>
    frame.dialect.listItem(renderBlocks(item.children, { ...frame, lists: frame.lists + 1 }), {
      ordered,
      number: ordered ? start + index : index + 1,
      depth: frame.lists,
      ...(item.checked !== undefined && { checked: item.checked }),
    }),
  );
  const inner = items.join('\n');
  return frame.dialect.list ? frame.dialect.list(inner, ordered) : inner;
}

function renderTable(node: Of<'table'>, frame: Frame): string {
  const [header = [], ...rows] = node.children.map((row) => row.children.map((cell) => renderInlines(cell.children, frame)));
  return frame.dialect.table({ header, rows });
}

function renderInlines(nodes: readonly MarkdownNode[], frame: Frame): string {
  return nodes.map((node) => renderInline(node, frame)).join('');
}

function renderInline(node: MarkdownNode, outer: Frame): string {
  const { dialect } = outer;
  const frame = { ...outer, depth: outer.depth + 1 };
  if (frame.depth > MAX_DEPTH) return dialect.text(textOf(node));
  switch (node.type) {
    case 'text':
      return dialect.text(node.value);
    case 'strong':
      return dialect.strong(renderInlines(node.children, frame));
    case 'emphasis':
      return dialect.emphasis(renderInlines(node.children, frame));
    case 'delete':
      return dialect.strike(renderInlines(node.children, frame));
    case 'inlineCode':
      return dialect.inlineCode(node.value);
    case 'link':
      return dialect.link(renderInlines(node.children, frame), node.url);
    case 'image':
      return dialect.image(node.value, node.url);
    case 'break':
      return dialect.lineBreak;
    case 'html':
      return /^<br\s*\/?>$/i.test(node.value) ? dialect.lineBreak : dialect.text(node.value);
    default:
      return dialect.text(textOf(node));
  }
}

/** Depth first, without recursion: a tree may be deeper than the stack. */
function walk(node: MarkdownNode, visit: (node: MarkdownNode) => void): void {
  const waiting: MarkdownNode[] = [node];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    visit(next);
    if ('children' in next) for (const child of next.children.toReversed()) waiting.push(child);
  }
}

function textOf(node: MarkdownNode): string {
  let out = '';
  walk(node, (part) => {
    if ('value' in part) out += part.value;
    else if (part.type === 'break') out += '\n';
  });
  return out;
}

function literal(text: string): Root {
  return { type: 'root', children: [{ type: 'paragraph', children: [{ type: 'text', value: text }] }] };
}
