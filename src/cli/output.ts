import { stripVTControlCharacters, styleText } from 'node:util';
import type { Stdio } from '../app/run-options.ts';
import { printableBlock } from '../lib/printable.ts';

/** Version of every JSON document the command line prints. */
const SCHEMA_VERSION = 1;

export type Color = 'green' | 'yellow' | 'red' | 'dim' | 'bold';
export type ColorChoice = 'auto' | 'always' | 'never';
/** A state is told by symbol and word; its colour only repeats it. */
export type Mark = 'ok' | 'warn' | 'bad' | 'none';

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Fields of documents that say what to do. */
const NAMES_COMMANDS: ReadonlySet<string> = new Set(['hint', 'fix']);

const MARKS: Readonly<Record<Mark, readonly [string, Color]>> = {
  ok: ['✓', 'green'],
  warn: ['!', 'yellow'],
  bad: ['✗', 'red'],
  none: ['-', 'dim'],
};

export interface OutputOptions {
  readonly stdio: Stdio;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly json: boolean;
  readonly color: ColorChoice;
  /** Applied to talk, failures and what is said of states, never to data: that may be the words of people. */
  readonly nameCommands: (text: string) => string;
}

/** What a command says: data on stdout, talk on stderr. With `json`, stdout carries exactly one document. */
export class Output {
  readonly json: boolean;
  readonly nameCommands: (text: string) => string;
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.json = options.json;
    this.nameCommands = options.nameCommands;
    this.#options = options;
  }

  /** A line (or block) of data for people. Nothing with `json`: the document says it. */
  data(text: string): void {
    if (!this.json) this.#options.stdio.stdout.write(`${text}\n`);
  }

  /** As `data`, of words that are all ours: the commands that it names are named as they are called here. */
  told(text: string): void {
    this.data(this.nameCommands(text));
  }

  /**
   * As `told`, with its lines folded to the width of the terminal, the folded part under `indent` columns. As
   * it is elsewhere.
   */
  screen(text: string, indent: number): void {
    const { isTTY, columns } = this.#options.stdio.stdout;
    const named = this.nameCommands(text);
    this.data(isTTY === true && columns !== undefined ? foldLines(named, columns, indent) : named);
  }

  /** The one document of a successful command; nothing without `json`. */
  document(body: Readonly<Record<string, unknown>>): void {
    if (this.json) this.#document({ ok: true, ...body });
  }

  /** Exactly this text on stdout, whatever the mode. */
  raw(text: string): void {
    this.#options.stdio.stdout.write(text);
  }

  /** Talk: progress, warnings, what to do next. */
  say(text: string): void {
    this.#options.stdio.stderr.write(`${this.nameCommands(text)}\n`);
  }

  /** `more` joins the JSON document: what could be found out in spite of the failure. */
  fail(failure: Failure, more: Readonly<Record<string, unknown>> = {}): void {
    if (this.json) {
      this.#document({ ok: false, error: failure, ...more });
      return;
    }
    const sign = this.paint('red', '✗', 'stderr');
    this.say(`${sign} ${failure.code} ${printableBlock(failure.message)}`);
    this.say(`  → ${printableBlock(failure.hint)}`);
  }

  paint(color: Color, text: string, stream: 'stdout' | 'stderr' = 'stdout'): string {
    return this.#colored(stream) ? styleText(color, text, { validateStream: false }) : text;
  }

  mark(mark: Mark, stream: 'stdout' | 'stderr' = 'stdout'): string {
    const [sign, color] = MARKS[mark];
    return this.paint(color, sign, stream);
  }

  #document(body: Readonly<Record<string, unknown>>): void {
    const named = (key: string, value: unknown): unknown =>
      NAMES_COMMANDS.has(key) && typeof value === 'string' ? this.nameCommands(value) : value;
    this.raw(`${JSON.stringify({ schemaVersion: SCHEMA_VERSION, ...body }, named, 2)}\n`);
  }

  #colored(stream: 'stdout' | 'stderr'): boolean {
    const { color, env, stdio } = this.#options;
    if (color !== 'auto') return color === 'always';
    // https://no-color.org: any value that is not empty.
    return stdio[stream].isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  }
}

/**
 * Folds at blanks. What has none is left as it is: a path that is cut cannot be copied. Colours take no
 * column.
 */
export function foldLines(text: string, columns: number, indent: number): string {
  const width = Math.max(columns, indent + 20);
  const folded = text.split('\n').map((line) => {
    const rows: string[] = [];
    let row = '';
    for (const piece of line.match(/\s*\S+/g) ?? []) {
      const isFull = row !== '' && stripVTControlCharacters(row + piece).length > width;
      if (isFull) rows.push(row);
      row = isFull ? ' '.repeat(indent) + piece.trimStart() : row + piece;
    }
    return [...rows, row].join('\n');
  });
  return folded.join('\n');
}

/** Columns two spaces apart, the last one ragged. Cells must be free of control characters. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
