/** Markdown -> the platform's three forms, by content: text, rich text (`post`), card (`interactive`). */

import type { Choice } from '../../../src/core/message.ts';
import { withinBlanks } from '../../kit/dialect-parts.ts';
import { type Block, type Line, type RichText, type Run, textOfLine, toRichText } from '../../kit/rich-text.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';

export interface Rendered {
  readonly type: 'text' | 'post' | 'interactive';
  /** The JSON that `content` is, as an object. */
  readonly content: object;
}

export interface RenderOptions {
  /** The text as it stands. */
  readonly plain: boolean;
  readonly choices?: readonly Choice[] | undefined;
  /** What a button sends back besides its choice. */
  readonly press?: Readonly<Record<string, string | boolean>>;
  /** Take this form whatever the content: the form a message has cannot be changed by an edit. */
  readonly form?: 'post' | 'interactive' | undefined;
}

/** Of a card or rich text as it is written into the request, escapes included. */
const MAX_BYTES = PLATFORM_LIMITS.rich.value;
/** More in one card and the platform takes none of it (230099, 11310 "card table number over limit"). */
const MAX_TABLES = PLATFORM_LIMITS.tables.value;
/** Of 200: components and their parts count alike. */
const MAX_ELEMENTS = 90;
/** What is more is not shown. */
export const MAX_COLUMNS = PLATFORM_LIMITS.columns.value;

export function render(markdown: string, options: RenderOptions): Rendered {
  const { plain, choices = [], press = {}, form } = options;
  if (plain) return renderPlain(markdown, options);
  const rich = toRichText(markdown);
  // Text that renders to nothing goes out as it was written.
  if (!rich.blocks.some((block) => block.kind !== 'line' || block.runs.length > 0)) return renderPlain(markdown, options);
  if (form === 'interactive' || choices.length > 0 || (form === undefined && rich.structured)) {
    const card = toCard(toElements(rich.blocks), choices, press);
    if (form === 'interactive' || choices.length > 0 || fits(rich, card)) return { type: 'interactive', content: card };
  }
  const words = literalText(rich);
  if (form === undefined && words !== undefined) return { type: 'text', content: { text: words } };
  const post = toPost(rich.blocks.flatMap(toPostLines));
  return form === undefined && sizeOf(post) > MAX_BYTES ? renderPlain(markdown, options) : { type: 'post', content: post };
}

/**
 * How much of a message of `most` units a text takes, by the bytes of the form that needs most of them: what
 * was begun as rich text or as a card cannot become anything else.
 */
export function shareOf(markdown: string, most: number): number {
  const bytes = (['post', 'interactive'] as const).map((form) => sizeOf(render(markdown, { plain: false, form }).content));
  return Math.ceil((Math.max(...bytes) * most) / MAX_BYTES);
}

function renderPlain(text: string, { choices = [], press = {}, form }: RenderOptions): Rendered {
  if (choices.length > 0 || form === 'interactive') {
    const words = { tag: 'div', text: { tag: 'plain_text', content: text } };
    return { type: 'interactive', content: toCard([words], choices, press) };
  }
  if (form === undefined && isLiteral(text)) return { type: 'text', content: { text } };
  return { type: 'post', content: toPost(text.split('\n').map((line) => [{ tag: 'text', text: line === '' ? ' ' : line }])) };
}

/** A text message knows links and tags (`<at user_id="all">` calls everybody); rich text shows every sign. */
function isLiteral(text: string): boolean {
  return !text.includes('<') && !text.includes('](');
}

/** The words of a text without any markup, when a text message shows them as they are. */
function literalText({ blocks, structured }: RichText): string | undefined {
  if (structured) return undefined;
  const lines: string[] = [];
  for (const block of blocks) {
    if (
      block.kind !== 'line' ||
      block.runs.some((run) => run.styles.length > 0 || (run.url !== undefined && run.url !== run.text))
    ) {
      return undefined;
    }
    lines.push(textOfLine(block.runs));
  }
  const text = lines.join('\n');
  return isLiteral(text) ? text : undefined;
}

function fits({ blocks }: RichText, card: { readonly elements: readonly object[] }): boolean {
  const tables = blocks.filter((block) => block.kind === 'table');
  const isWide = tables.some(({ header, rows }) => columnsOf([header, ...rows]) > MAX_COLUMNS);
  return tables.length <= MAX_TABLES && !isWide && card.elements.length <= MAX_ELEMENTS && sizeOf(card) <= MAX_BYTES;
}

/** As it stands in the request: the content is a JSON string within JSON. */
function sizeOf(content: object): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(content)));
}

/** Button component: at most 100 characters. */
export function buttonText({ label }: Choice): object {
  return { tag: 'plain_text', content: label.length > 100 ? `${label.slice(0, 99)}…` : label };
}

function toCard(elements: readonly object[], choices: readonly Choice[], press: Readonly<Record<string, string | boolean>>) {
  const buttons = choices.map((choice) => ({
    tag: 'button',
    text: buttonText(choice),
    type: 'default',
    value: { choice: choice.value, ...press },
  }));
  return {
    // Without `update_multi` a card cannot be edited later.
    config: { wide_screen_mode: true, update_multi: true },
    elements: [...elements, ...(buttons.length > 0 ? [{ tag: 'action', layout: 'flow', actions: buttons }] : [])],
  };
}

function toElements(blocks: readonly Block[]): readonly object[] {
  const elements: object[] = [];
  let lines: string[] = [];
  const endText = (): void => {
    const content = lines.join('\n').replace(/^\n+|\n+$/g, '');
    if (content !== '') elements.push({ tag: 'markdown', content });
    lines = [];
  };
  for (const block of blocks) {
    if (block.kind === 'line') lines.push(`${'> '.repeat(block.quoted)}${toCardLine(block.runs)}`);
    else if (block.kind === 'code') lines.push(toFence(block));
    else {
      endText();
      elements.push(block.kind === 'rule' ? { tag: 'hr' } : toTable(block));
    }
  }
  endText();
  return elements;
}

function toTable({ header, rows }: Extract<Block, { kind: 'table' }>): object {
  const names = Array.from({ length: columnsOf([header, ...rows]) }, (_, index) => `c${index}`);
  return {
    tag: 'table',
    // Table component: 1 to 10 rows to a page.
    page_size: Math.min(10, Math.max(1, rows.length)),
    row_height: 'low',
    header_style: { bold: true },
    columns: names.map((name, index) => ({
      name,
      display_name: textOfLine(header[index] ?? []),
      data_type: 'text',
      width: 'auto',
    })),
    rows: rows.map((row) => Object.fromEntries(names.map((name, index) => [name, toPlainLine(row[index] ?? [])]))),
  };
}

export function columnsOf(rows: readonly (readonly Line[])[]): number {
  return Math.max(...rows.map((row) => row.length));
}

/** A cell's words; the address of a link that says something else is written out. */
export function toPlainLine(line: Line): string {
  return line.map(({ text, url }) => (url === undefined || url === text ? text : `${text} (${url})`)).join('');
}

export function toFence({ text, language = '' }: Extract<Block, { kind: 'code' }>): string {
  // A fence within the code would end it, and a tag must get no meaning where entities are not read.
  const code = text.replaceAll('```', '`\u200b``').replace(/<(?=\/?[a-z])/gi, '<\u200b');
  return `\`\`\`${/^[\w+#.-]{1,20}$/.test(language) ? language : ''}\n${code}\n\`\`\``;
}

function toCardLine(line: Line): string {
  const text = line.map((run) => toCardRun(run)).join('');
  // What only at the beginning of a line is markup.
  return text.replace(/^(\s*)([#+-])/, (_, space: string, sign: string) => `${space}&#${sign.charCodeAt(0)};`);
}

/** `opens`: the addresses that become links. Blanks stand outside of the marks. */
export function toCardRun({ text, styles, url }: Run, opens = SAFE_URL): string {
  const { before, words, after } = withinBlanks(text);
  if (words === '') return text;
  // Inside backticks entities are not read: code that needs some is shown as words.
  let out = styles.includes('code') && !/[`<>&]/.test(words) ? `\`${words}\`` : escapeCard(words);
  if (styles.includes('strike')) out = `~~${out}~~`;
  if (styles.includes('italic')) out = `*${out}*`;
  if (styles.includes('bold')) out = `**${out}**`;
  if (url !== undefined)
    out = opens.test(url) ? `[${out}](${escapeUrl(url)})` : `${out}${url === text ? '' : ` (${escapeCard(url)})`}`;
  return `${before}${out}${after}`;
}

/** The schemes the apps open. Others, `javascript:` above all, are shown as words. */
const SAFE_URL = /^(?:https?|mailto|tel|lark|feishu):/i;

/** Rich text component, "special characters": entities show the sign itself. */
export function escapeCard(text: string): string {
  return text.replace(/[&<>*_~`[\]\\]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function escapeUrl(url: string): string {
  return url.replace(/[\s()<>[\]"\\`*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`);
}

type PostLine = readonly object[];

function toPost(lines: readonly PostLine[]): object {
  return { zh_cn: { content: lines } };
}

function toPostLines(block: Block): readonly PostLine[] {
  switch (block.kind) {
    case 'line':
      return [toPostLine(block.runs, '> '.repeat(block.quoted))];
    case 'rule':
      return [[{ tag: 'hr' }]];
    case 'code':
      return [[{ tag: 'code_block', ...languageOf(block.language), text: block.text === '' ? ' ' : block.text }]];
    case 'table':
      return [block.header, ...block.rows].map((row, index) => {
        const cells = row.flatMap((cell, place): Line => (place === 0 ? cell : [{ text: ' | ', styles: [] }, ...cell]));
        return toPostLine(index === 0 ? cells.map((run) => ({ ...run, styles: [...run.styles, 'bold'] })) : cells, '');
      });
  }
}

const POST_STYLES = { bold: 'bold', italic: 'italic', strike: 'lineThrough', code: undefined } as const;

function toPostLine(runs: Line, prefix: string): PostLine {
  const pieces = runs.map(({ text, styles, url }) => {
    const names = [...new Set(styles.map((style) => POST_STYLES[style]).filter((name) => name !== undefined))];
    const style = names.length > 0 ? { style: names } : {};
    const words = styles.includes('code') ? `\`${text}\`` : text;
    if (url === undefined) return { tag: 'text', text: words, ...style };
    if (SAFE_URL.test(url)) return { tag: 'a', text: words, href: url, ...style };
    return { tag: 'text', text: url === text ? words : `${words} (${url})`, ...style };
  });
  const line = prefix === '' ? pieces : [{ tag: 'text', text: prefix }, ...pieces];
  // A line of no pieces is refused.
  return line.length > 0 ? line : [{ tag: 'text', text: ' ' }];
}

/** Rich text, code block: the languages it colours; another one is refused. */
const LANGUAGES: ReadonlySet<string> = new Set(
  'BASH C CPP CSHARP CSS DART DOCKERFILE GO HTML JAVA JAVASCRIPT JSON KOTLIN LUA MARKDOWN PHP PYTHON RUBY RUST SCALA SHELL SQL SWIFT TYPESCRIPT XML YAML'.split(
    ' ',
  ),
);

function languageOf(language: string | undefined): object {
  const name = language?.toUpperCase() ?? '';
  return LANGUAGES.has(name) ? { language: name } : {};
}
