// {markdown, pictures} as JSON on stdin -> tokens of Markdown -> a docx in base64 on stdout
//
// A program of its own: the package that writes docx is large, and a long document takes a while.
import { text as readAll } from 'node:stream/consumers';
import {
  AlignmentType,
  BorderStyle,
  Document,
  ExternalHyperlink,
  type FileChild,
  HeadingLevel,
  ImageRun,
  type IParagraphOptions,
  type IRunOptions,
  LevelFormat,
  Packer,
  Paragraph,
  type ParagraphChild,
  ShadingType,
  Table,
  TableCell,
  TableRow,
  TextRun,
  WidthType,
} from 'docx';
import MarkdownIt from 'markdown-it';
import type Token from 'markdown-it/lib/token.mjs';

interface Request {
  readonly markdown: string;
  /** Of base64. */
  readonly pictures: Readonly<Record<string, string>>;
}

/** Between the margins of a page, in pixels of 1/96 inch. */
const TEXT_WIDTH = 600;
/** Of a picture, so that it stays on one page. */
const TEXT_HEIGHT = 800;
const CODE_FONT = 'Courier New';
const LINK_COLOR = '0563C1';
/** Twentieths of a point: half an inch, as Word indents. */
const INDENT = 720;
/** Word knows nine. */
const LEVELS = 9;
const HEADINGS = [
  HeadingLevel.HEADING_1,
  HeadingLevel.HEADING_2,
  HeadingLevel.HEADING_3,
  HeadingLevel.HEADING_4,
  HeadingLevel.HEADING_5,
  HeadingLevel.HEADING_6,
];
const ALIGNMENTS = { left: AlignmentType.LEFT, center: AlignmentType.CENTER, right: AlignmentType.RIGHT };

/** Where in the document a block stands. */
interface Place {
  readonly quote: number;
  readonly list?: { readonly reference: string; readonly level: number; readonly instance: number } | undefined;
}

const { markdown, pictures } = JSON.parse(await readAll(process.stdin)) as Request;
/** By their addresses as they are meant: Markdown encodes some. */
const pictured = new Map(Object.entries(pictures).map(([address, base64]) => [meant(address), base64]));
const markdownIt = new MarkdownIt({ html: false, linkify: true });
let lists = 0;
const tokens = markdownIt.parse(markdown, {});
const title = tokens.at(tokens.findIndex(({ type }) => type === 'heading_open') + 1)?.content ?? '';
const made = new Document({
  ...(title === '' ? {} : { title: title.slice(0, 300) }),
  creator: 'Gatehouse',
  numbering: {
    config: [
      { reference: 'ordered', levels: levels(LevelFormat.DECIMAL, (at) => `%${at + 1}.`) },
      { reference: 'bullet', levels: levels(LevelFormat.BULLET, (at) => ['•', '◦', '▪'][at % 3] ?? '•') },
    ],
  },
  sections: [{ children: blocks(tokens, { quote: 0 }) }],
});
process.stdout.write(await Packer.toBase64String(made));

function levels(format: (typeof LevelFormat)[keyof typeof LevelFormat], text: (level: number) => string) {
  return Array.from({ length: LEVELS }, (_, level) => ({
    ...{ level, format, text: text(level), alignment: AlignmentType.LEFT },
    style: { paragraph: { indent: { left: INDENT * (level + 1), hanging: INDENT / 2 } } },
  }));
}

/** Of tokens that are whole: each block that is opened is closed. */
function blocks(all: readonly Token[], place: Place): FileChild[] {
  return wholes(all).flatMap((own) => block(own, place));
}

/** The tokens of each block or mark on their own. */
function wholes(all: readonly Token[]): Token[][] {
  const found: Token[][] = [];
  let depth = 0;
  for (const token of all) {
    if (depth === 0) found.push([]);
    found.at(-1)?.push(token);
    depth += token.nesting;
  }
  return found;
}

function block(own: readonly Token[], place: Place): FileChild[] {
  const [first] = own;
  if (!first) return [];
  const inner = own.slice(1, -1);
  switch (first.type) {
    case 'heading_open':
      return [paragraph(own, place, { heading: HEADINGS[Number(first.tag.slice(1)) - 1] ?? HeadingLevel.HEADING_6 })];
    case 'paragraph_open':
      return [paragraph(own, place)];
    case 'blockquote_open':
      return blocks(inner, { quote: place.quote + 1 });
    case 'bullet_list_open':
    case 'ordered_list_open':
      return list(inner, first.type === 'ordered_list_open' ? 'ordered' : 'bullet', place);
    case 'fence':
    case 'code_block':
      return [code(first.content, place)];
    case 'hr':
      return [new Paragraph({ border: { bottom: { style: BorderStyle.SINGLE, size: 6, space: 1, color: 'auto' } } })];
    case 'table_open':
      return [table(inner), new Paragraph({})];
    default:
      return [];
  }
}

function list(items: readonly Token[], reference: string, place: Place): FileChild[] {
  const level = Math.min((place.list?.level ?? -1) + 1, LEVELS - 1);
  lists += 1;
  const own = { reference, level, instance: lists };
  return wholes(items).flatMap((tokens) => item(tokens.slice(1, -1), { quote: place.quote, list: own }));
}

/** Empty where it is not set. */
function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? '');
}

/** Only its first block has the sign of the list; lists in it are one level deeper, wherever they stand. */
function item(own: readonly Token[], place: Place): FileChild[] {
  const beside = { quote: place.quote + (place.list?.level ?? 0) + 1 };
  return wholes(own).flatMap((tokens, at) => {
    const isList = /^(?:bullet|ordered)_list_open$/.test(tokens[0]?.type ?? '');
    return block(tokens, at === 0 || isList ? place : beside);
  });
}

function paragraph(own: readonly Token[], { quote, list: of }: Place, more: IParagraphOptions = {}): Paragraph {
  const children = own.flatMap((token) => (token.type === 'inline' ? inline(token.children ?? []) : []));
  const indent = quote > 0 ? { indent: { left: INDENT * quote } } : {};
  return new Paragraph({ ...indent, spacing: { after: 120 }, ...(of ? { numbering: of } : {}), ...more, children });
}

function code(content: string, { quote }: Place): Paragraph {
  const lines = content.replace(/\n$/, '').split('\n');
  return new Paragraph({
    ...{ indent: { left: INDENT * quote }, spacing: { after: 120 } },
    shading: { type: ShadingType.CLEAR, fill: 'F2F2F2' },
    children: lines.map((text, at) => new TextRun({ text, font: CODE_FONT, size: 18, ...(at > 0 ? { break: 1 } : {}) })),
  });
}

function table(own: readonly Token[]): Table {
  const rows: TableRow[] = [];
  let cells: TableCell[] = [];
  for (const [at, token] of own.entries()) {
    if (token.type === 'tr_open') cells = [];
    if (token.type === 'th_open' || token.type === 'td_open') cells.push(cell(own[at + 1], token));
    if (token.type === 'tr_close') rows.push(new TableRow({ children: cells, tableHeader: rows.length === 0 }));
  }
  return new Table({ rows, width: { size: 100, type: WidthType.PERCENTAGE } });
}

function cell(content: Token | undefined, open: Token): TableCell {
  const named = /text-align:(left|center|right)/.exec(attribute(open, 'style'))?.[1];
  const children = inline(content?.children ?? [], open.type === 'th_open' ? { bold: true } : {});
  const alignment = named === undefined ? {} : { alignment: ALIGNMENTS[named as keyof typeof ALIGNMENTS] };
  return new TableCell({ children: [new Paragraph({ ...alignment, children })] });
}

/** Marks that are open while the tokens of a line are read. */
interface Marks extends Pick<IRunOptions, 'bold' | 'italics' | 'strike'> {}

function inline(all: readonly Token[], base: Marks = {}): ParagraphChild[] {
  let marks: Marks = base;
  return links(all).flatMap((own) => {
    const [token] = own;
    if (token?.type === 'link_open') return link(attribute(token, 'href'), own.slice(1, -1), marks);
    if (!token) return [];
    if (token.nesting === 0) return leaf(token, marks);
    marks = marked(marks, token, base);
    return [];
  });
}

/** Each token on its own, and each link with all that is in it. */
function links(all: readonly Token[]): Token[][] {
  const found: Token[][] = [];
  let isIn = false;
  for (const token of all) {
    if (isIn) found.at(-1)?.push(token);
    else found.push([token]);
    if (token.type.startsWith('link_')) isIn = token.nesting === 1;
  }
  return found;
}

function marked(marks: Marks, { type, nesting }: Token, base: Marks): Marks {
  const isOpen = nesting === 1;
  if (type.startsWith('strong_')) return { ...marks, bold: isOpen || base.bold === true };
  if (type.startsWith('em_')) return { ...marks, italics: isOpen };
  if (type.startsWith('s_')) return { ...marks, strike: isOpen };
  return marks;
}

function link(address: string, inner: readonly Token[], marks: Marks): ParagraphChild[] {
  const runs = inner.flatMap((token) => leaf(token, marks, { color: LINK_COLOR, underline: {} }));
  // What leads into a file or to a script is shown by its words.
  return /^(?:https?|mailto):/i.test(address) ? [new ExternalHyperlink({ link: address, children: runs })] : runs;
}

function leaf(token: Token, marks: Marks, more: IRunOptions = {}): ParagraphChild[] {
  switch (token.type) {
    case 'text':
      return [new TextRun({ ...marks, ...more, text: token.content })];
    case 'code_inline':
      return [new TextRun({ ...marks, ...more, text: token.content, font: CODE_FONT })];
    case 'softbreak':
      return [new TextRun({ ...marks, ...more, text: ' ' })];
    case 'hardbreak':
      return [new TextRun({ break: 1 })];
    case 'image':
      return [picture(token) ?? new TextRun({ ...marks, text: `[picture: ${token.content || attribute(token, 'src')}]` })];
    default:
      return token.content === '' ? [] : [new TextRun({ ...marks, ...more, text: token.content })];
  }
}

function picture(token: Token): ImageRun | undefined {
  const source = attribute(token, 'src');
  const base64 = pictured.get(meant(source));
  if (base64 === undefined) return undefined;
  const data = Buffer.from(base64, 'base64');
  const size = sizeOf(data);
  if (!size) return undefined;
  const scale = Math.min(1, TEXT_WIDTH / size.width, TEXT_HEIGHT / size.height);
  const transformation = { width: Math.round(size.width * scale), height: Math.round(size.height * scale) };
  const altText = { name: source, title: token.content, description: token.content };
  return new ImageRun({ type: size.type, data, transformation, altText });
}

function meant(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}

interface Size {
  readonly type: 'png' | 'jpg' | 'gif';
  readonly width: number;
  readonly height: number;
}

/** In pixels, as the head of the file says. */
function sizeOf(data: Buffer): Size | undefined {
  const size = headOf(data);
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

function headOf(data: Buffer): Size | undefined {
  if (data.length >= 24 && data.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')))
    return { type: 'png', width: data.readUInt32BE(16), height: data.readUInt32BE(20) };
  if (data.length >= 10 && /^GIF8[79]a$/.test(data.toString('latin1', 0, 6)))
    return { type: 'gif', width: data.readUInt16LE(6), height: data.readUInt16LE(8) };
  if (data.length < 4 || data.readUInt16BE(0) !== 0xffd8) return undefined;
  // Segments of a JPEG, up to the one that begins the frame (ITU T.81, B.1.1.4 and B.2.2).
  for (let at = 2; at + 9 < data.length; at += 2 + data.readUInt16BE(at + 2)) {
    const marker = data.readUInt16BE(at);
    if (marker < 0xff00) return undefined;
    const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
    if (isFrame) return { type: 'jpg', height: data.readUInt16BE(at + 5), width: data.readUInt16BE(at + 7) };
  }
  return undefined;
}
