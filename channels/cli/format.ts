/**
 * Markdown -> a terminal: bold, lists, code, links with their address. Without colours the same words, and no
 * marks.
 */
import { styleText } from 'node:util';
import { displayWidth, listLine } from '../kit/dialect-parts.ts';
import { isAddressOf } from '../kit/link-label.ts';
import { type Dialect, parseMarkdown, renderMarkdown, type TableText } from '../kit/markdown.ts';

export interface TerminalStyle {
  /** False with NO_COLOR. */
  readonly colors: boolean;
  /** Whether the terminal shows more than ASCII. */
  readonly unicode: boolean;
}

/** Never throws. The text must hold no control characters: those of the result are this file's own. */
export function toTerminal(markdown: string, style: TerminalStyle): string {
  return renderMarkdown(parseMarkdown(markdown), dialectOf(style));
}

type Format = Parameters<typeof styleText>[0];

function dialectOf({ colors, unicode }: TerminalStyle): Dialect {
  const paint = (format: Format, text: string): string => (colors ? styleText(format, text, { validateStream: false }) : text);
  const link = (inner: string, url: string): string => {
    if (url === '' || isAddressOf(inner, url)) return paint('underline', inner === '' ? url : inner);
    return `${inner} (${paint('underline', url)})`.trimStart();
  };
  return {
    text: (value) => value,
    strong: (inner) => paint('bold', inner),
    emphasis: (inner) => paint('italic', inner),
    strike: (inner) => paint('strikethrough', inner),
    inlineCode: (value) => paint('cyan', value),
    codeBlock: (value) => value.replace(/^/gm, '    ').replace(/^.+$/gm, (line) => paint('cyan', line)),
    link,
    image: link,
    heading: (inner, depth) => paint(depth === 1 ? ['bold', 'underline'] : 'bold', inner),
    boldHeading: () => colors,
    quote: (inner) => inner.replace(/^/gm, unicode ? '│ ' : '| '),
    listItem: listLine(unicode ? '•' : '-', '  ', unicode ? ['☑ ', '☐ '] : ['[x] ', '[ ] ']),
    table: (table) => tableOf(table, (cell) => paint('bold', cell)),
    rule: (unicode ? '─' : '-').repeat(20),
    lineBreak: '\n',
  };
}

/** Columns two blanks apart, the last one ragged. */
function tableOf({ header, rows }: TableText, strong: (cell: string) => string): string {
  const all = [header, ...rows];
  const count = Math.max(...all.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(...all.map((row) => widthOf(row[at] ?? ''))));
  const line = (row: readonly string[], mark: (cell: string) => string): string =>
    row.map((cell, at) => mark(cell) + ' '.repeat(at === row.length - 1 ? 0 : (widths[at] ?? 0) - widthOf(cell) + 2)).join('');
  return [line(header, strong), ...rows.map((row) => line(row, (cell) => cell))].join('\n');
}

/** Colours take no room. */
export function widthOf(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those of styleText.
  return displayWidth(text.replace(/\u001b\[[\d;]*m/g, ''));
}
