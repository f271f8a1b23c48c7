/**
 * Markdown -> a card of JSON 2.0 with one text element, which grows while an answer is written
 * (https://open.feishu.cn/document/feishu-cards/card-json-v2-components/content-components/rich-text). It
 * reads CommonMark: a line feed alone is a blank, so every line ends with a tag.
 */
import type { Choice } from '../../../src/core/message.ts';
import { type Block, type Line, type Run, toRichText } from '../../kit/rich-text.ts';
import { buttonText, columnsOf, escapeCard, MAX_COLUMNS, toCardRun, toFence, toPlainLine } from './format.ts';

/** The text element, by the name that a call changes it under: letters, digits and `_`, at most 20. */
export const TEXT_ELEMENT = 'answer';

/** "At most four tables in one rich text component." */
const MAX_TABLES = 4;
/** "Only HTTP and HTTPS at present." */
const OPENS = /^https?:/i;
const PUNCTUATION = /^[\p{P}\p{S}]$/u;
const MARK = /^(?:\*{1,3}|~~)/;

export interface StreamingCardOptions {
  readonly plain: boolean;
  /** More is to come: the app says so, and shows new words one by one. */
  readonly streaming: boolean;
  readonly choices?: readonly Choice[] | undefined;
  /** What a button sends back besides its choice. */
  readonly press?: Readonly<Record<string, string | boolean>>;
}

/** The JSON of the whole card. */
export function toStreamingCard(text: string, options: StreamingCardOptions): object {
  const { plain, streaming, choices = [], press = {} } = options;
  const words =
    plain && !streaming
      ? { tag: 'div', text: { tag: 'plain_text', content: text } }
      : { tag: 'markdown', element_id: TEXT_ELEMENT, content: toCardText(text, plain) };
  const buttons = choices.map((choice) => ({
    tag: 'button',
    text: buttonText(choice),
    type: 'default',
    behaviors: [{ type: 'callback', value: { choice: choice.value, ...press } }],
  }));
  return {
    schema: '2.0',
    config: { streaming_mode: streaming, update_multi: true },
    body: { elements: [words, ...buttons] },
  };
}

/** The Markdown of the text element. `plain`: every sign of `text` stands for itself. Never empty. */
export function toCardText(text: string, plain: boolean): string {
  const out = plain ? '' : toSegments(toRichText(text).blocks).join('\n\n');
  return out || plainText(text) || '&#160;';
}

function plainText(text: string): string {
  const lines = text.split('\n').map((line) => toLine([{ text: line, styles: [] }]));
  return joinLines(lines.map((line) => (line.trim() === '' ? '&#160;' : line)));
}

function joinLines(lines: readonly string[]): string {
  return lines.join('<br>\n');
}

/** Paragraphs, quotes, tables, code: what a blank line parts. */
function toSegments(blocks: readonly Block[]): readonly string[] {
  const segments: string[] = [];
  let lines: string[] = [];
  let quoted = 0;
  let tables = 0;
  const add = (line: string, depth: number): void => {
    // A line right behind a quote would belong to it.
    if (depth !== quoted) endText();
    quoted = depth;
    if (line.trim() === '') endText();
    else lines.push(`${'> '.repeat(depth)}${line}`);
  };
  const endText = (): void => {
    if (lines.length > 0) segments.push(joinLines(lines));
    lines = [];
  };
  for (const block of blocks) {
    if (block.kind === 'line') {
      add(toLine(block.runs), block.quoted);
      continue;
    }
    if (block.kind === 'table' && (tables === MAX_TABLES || columnsOf([block.header, ...block.rows]) > MAX_COLUMNS)) {
      for (const row of [block.header, ...block.rows]) add(escapeText(row.map(toPlainLine).join(' | ')), 0);
      continue;
    }
    endText();
    if (block.kind === 'table') tables += 1;
    segments.push(block.kind === 'rule' ? '<hr>' : block.kind === 'code' ? toFence(block) : toTable(block));
  }
  endText();
  return segments;
}

function toTable({ header, rows }: Extract<Block, { kind: 'table' }>): string {
  const columns = columnsOf([header, ...rows]);
  const toRow = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const cellsOf = (row: readonly Line[]) => Array.from({ length: columns }, (_, index) => toCell(row[index] ?? []));
  return [cellsOf(header), Array.from({ length: columns }, () => '---'), ...rows.map(cellsOf)].map(toRow).join('\n');
}

/** A bar ends a cell, within code too: such code is shown as words. */
function toCell(line: Line): string {
  return toMarked(
    line.map((run) => (run.text.includes('|') ? { ...run, styles: run.styles.filter((one) => one !== 'code') } : run)),
  );
}

function toLine(line: Line): string {
  const text = toMarked(line);
  // What only at the beginning of a line is markup: headings, lists, rules, and four blanks, which are code.
  return text
    .replace(/^[ \t]+/, (blanks) => '\u00a0'.repeat(blanks.length))
    .replace(/^(\u00a0*)([#+=-])/, (_, space: string, sign: string) => `${space}&#${sign.charCodeAt(0)};`)
    .replace(/^(\u00a0*\d{1,9})([.)])/, (_, number: string, sign: string) => `${number}&#${sign.charCodeAt(0)};`);
}

/**
 * Runs one behind the other, so that CommonMark 6.2 reads their marks: beside a sign a mark needs a blank on
 * its other side ("make sure that there is a blank before and behind"), and two marks side by side are one.
 */
function toMarked(line: Line): string {
  let out = '';
  line.forEach((run, index) => {
    const piece = toPiece(run);
    const inner = innerOf(piece);
    if (inner === undefined) {
      out += piece;
      return;
    }
    const before = out.at(-1) ?? '';
    const next = line[index + 1];
    const after = next ? (toPiece(next)[0] ?? '') : '';
    if (before === piece[0]) out += '\u200b';
    else if (PUNCTUATION.test(inner.at(0) ?? '') && isWord(before)) out += ' ';
    out += piece;
    if (PUNCTUATION.test(inner.at(-1) ?? '') && isWord(after)) out += ' ';
  });
  return out;
}

function toPiece(run: Run): string {
  // Outside of code: a bar would make a table of two lines, and `:OK:` is a picture.
  return toCardRun(run, OPENS)
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : part.replaceAll('|', '&#124;').replace(/:(?=[A-Za-z_]+:)/g, '&#58;')))
    .join('');
}

/** Between the marks that a piece begins and ends with; undefined where it has none. */
function innerOf(piece: string): string | undefined {
  const mark = MARK.exec(piece)?.[0];
  return mark === undefined ? undefined : piece.slice(mark.length, piece.length - mark.length);
}

function isWord(char: string): boolean {
  return char !== '' && !/\s/.test(char) && !PUNCTUATION.test(char);
}

function escapeText(text: string): string {
  return escapeCard(text).replaceAll('|', '&#124;');
}
