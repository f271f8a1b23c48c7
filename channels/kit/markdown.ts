/** Markdown (CommonMark + GFM) -> tree -> a platform's dialect. */
import type { Dialect } from './dialect.ts';
import { misleads } from './link-label.ts';
import { piecesOf } from './markdown-pieces.ts';
import { literal, textOf } from './markdown-text.ts';
import { loadParser, type MarkdownNode, type Root } from './markdown-tree.ts';
import { WORDS_ALONE } from './markdown-words.ts';

export type { Dialect, TableText } from './dialect.ts';
export type { MarkdownNode, Root } from './markdown-tree.ts';

type Of<Type extends MarkdownNode['type']> = Extract<MarkdownNode, { type: Type }>;

/**
 * One paragraph of words, in which no construct can begin: every line starts with a letter and holds no mark
 * of Markdown. Most short answers are like this, and parsing one costs as much as sending it. Addresses
 * become links, so they are no words.
 */
const WORDS = wordsOnly(String.raw`[\p{L}\p{M}\p{N}\p{Extended_Pictographic} .,;:?!'"“”‘’«»„()%/–—…-]`);
const ADDRESS = /\/\/|www\./i;
/** Rendering recurses; what is nested deeper is shown as its text. */
const MAX_DEPTH = 64;

/** Parses; never throws for any text. What is absurdly large or nested comes back as literal paragraphs. */
export function parseMarkdown(text: string): Root {
  if (WORDS.test(text) && !ADDRESS.test(text)) return literal(text);
  const children: MarkdownNode[] = [];
  for (const piece of piecesOf(text)) {
    const lines = (node: MarkdownNode): MarkdownNode =>
      'place' in node && node.place
        ? { ...node, place: { start: node.place.start + piece.line, end: node.place.end + piece.line } }
        : node;
    const parsed = piece.isAbsurd ? literal(piece.text) : parsePiece(piece.text);
    children.push(...(piece.line === 0 ? parsed.children : parsed.children.map(lines)));
  }
  return { type: 'root', children };
}

function parsePiece(text: string): Root {
  try {
    parser ??= loadParser();
    return parser(text);
  } catch {
    // The parser's code could not be read (files being replaced, too many open). This text goes out as it is;
    // the next tries again.
    return literal(text);
  }
}

function wordsOnly(word: string): RegExp {
  const line = String.raw`\p{L}${word}*(?<! )`;
  return new RegExp(String.raw`^${line}(?:\n${line})*$`, 'u');
}

let parser: ((text: string) => Root) | undefined;

/**
 * The tree as one string in the dialect. Pure; loses no visible text: HTML and unused definitions appear as
 * text.
 */
export function renderMarkdown(root: Root, dialect: Dialect): string {
  return renderBlocks(root.children, { dialect, depth: 0, lists: 0, quotes: 0, marks: [] });
}

interface Frame {
  readonly dialect: Dialect;
  readonly depth: number;
  readonly lists: number;
  readonly quotes: number;
  /** What the words are in: the same mark again would end it on most platforms, and a link holds no other. */
  readonly marks: readonly ('strong' | 'emphasis' | 'delete' | 'link')[];
}

/** Blocks keep the distance they had in the source: one newline when they touched, else an empty line. */
function renderBlocks(
  nodes: readonly MarkdownNode[],
  frame: Frame,
  placed: (node: MarkdownNode, rendered: string, index: number) => string = (_node, rendered) => rendered,
): string {
  let out = '';
  let lastLine: number | undefined;
  for (const [index, node] of nodes.entries()) {
    const block = renderBlock(node, frame);
    if (block === '') continue;
    const rendered = placed(node, block, index);
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
    case 'heading': {
      const isBold = dialect.boldHeading?.(node.depth) ?? false;
      return dialect.heading(renderInlines(node.children, isBold ? within(frame, 'strong') : frame), node.depth);
    }
    case 'code':
      // Platforms refuse an empty one, or show its marks.
      return node.value.trim() === '' ? '' : dialect.codeBlock(node.value, node.language);
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
    frame.dialect.listItem(renderItem(item.children, { ...frame, lists: frame.lists + 1 }), {
      ordered,
      number: ordered ? start + index : index + 1,
      depth: frame.lists,
      ...(item.checked !== undefined && { checked: item.checked }),
    }),
  );
  const inner = items.join('\n');
  return frame.dialect.list ? frame.dialect.list(inner, ordered) : inner;
}

/**
 * The further lines of an item's words stand below its first, or they would look like the text behind the
 * list.
 */
function renderItem(nodes: readonly MarkdownNode[], frame: Frame): string {
  const { itemIndent } = frame.dialect;
  if (itemIndent === undefined) return renderBlocks(nodes, frame);
  const indent = itemIndent.repeat(frame.lists);
  return renderBlocks(nodes, frame, (node, rendered, index) => {
    if (node.type !== 'paragraph') return rendered;
    const below = rendered.replaceAll('\n', `\n${indent}`);
    return index === 0 ? below : indent + below;
  });
}

function renderTable(node: Of<'table'>, frame: Frame): string {
  const { boldHeads = false } = frame.dialect;
  const isPair = node.children[0]?.children.length === 2;
  const [header = [], ...rows] = node.children.map((row, index) =>
    row.children.map((cell, column) => {
      const isHead = boldHeads && (index === 0 || (isPair && column === 0));
      return renderInlines(cell.children, isHead ? within(frame, 'strong') : frame);
    }),
  );
  const plain = { ...frame, dialect: WORDS_ALONE };
  const words = () => node.children.map((row) => row.children.map((cell) => renderInlines(cell.children, plain).trim()));
  return frame.dialect.table({ header, rows, words });
}

function renderInlines(nodes: readonly MarkdownNode[], frame: Frame): string {
  return nodes.map((node) => renderInline(node, frame)).join('');
}

function within(frame: Frame, mark: Frame['marks'][number]): Frame {
  return { ...frame, marks: [...frame.marks, mark] };
}

interface Marked {
  readonly type: 'strong' | 'emphasis' | 'delete';
  readonly children: readonly MarkdownNode[];
}

/** Words with a mark, unless they have it already. */
function renderMarked(node: Marked, frame: Frame): string {
  const { dialect, marks } = frame;
  const inner = renderInlines(node.children, within(frame, node.type));
  if (marks.includes(node.type) || inner.trim() === '') return inner;
  return node.type === 'strong'
    ? dialect.strong(inner)
    : node.type === 'emphasis'
      ? dialect.emphasis(inner)
      : dialect.strike(inner);
}

function renderLink(node: Of<'link'>, frame: Frame): string {
  const { dialect, marks } = frame;
  const inner = renderInlines(node.children, within(frame, 'link'));
  if (marks.includes('link')) return inner;
  if (!misleads(textOf(node), node.url)) return dialect.link(inner, node.url);
  // Who reads one address must not open another: the label is no link, and the address stands beside it.
  const address = dialect.text(node.url);
  return `${inner} (${/^https?:/i.test(node.url) ? dialect.link(address, node.url) : address})`;
}

function renderInline(node: MarkdownNode, outer: Frame): string {
  const { dialect } = outer;
  const frame = { ...outer, depth: outer.depth + 1 };
  if (frame.depth > MAX_DEPTH) return dialect.text(textOf(node));
  switch (node.type) {
    case 'text':
      return dialect.text(node.value);
    case 'strong':
    case 'emphasis':
    case 'delete':
      return renderMarked({ type: node.type, children: node.children }, frame);
    case 'inlineCode':
      return dialect.inlineCode(node.value);
    case 'link':
      return renderLink(node, frame);
    case 'image':
      if (frame.marks.includes('link')) return dialect.text(node.value || node.url);
      return misleads(node.value, node.url)
        ? renderLink({ type: 'link', url: node.url, children: [{ type: 'text', value: node.value }] }, frame)
        : dialect.image(node.value, node.url);
    case 'break':
      return dialect.lineBreak;
    case 'html':
      return /^<br\s*\/?>$/i.test(node.value) ? dialect.lineBreak : dialect.text(node.value);
    default:
      return dialect.text(textOf(node));
  }
}
