/**
 * A terminal as the programs on it know it: a grid that scrolls, and what escape sequences make of it
 * (ECMA-48; https://invisible-island.net/xterm/ctlseqs/ctlseqs.html). Written without a look at how the
 * adapter measures.
 */
import { Writable } from 'node:stream';

export interface TerminalScreenOptions {
  readonly columns: number;
  readonly rows: number;
  /**
   * Signs that belong together are one sign of two columns, as newer terminals have it. False: each of them
   * stands by itself, in as many columns as it has alone.
   */
  readonly joins: boolean;
}

interface Row {
  /** One entry for each column; '' behind a wide sign. */
  cells: string[];
  /** The text went on in the next row by itself. */
  isBroken: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what drives a terminal.
const SEQUENCE = /\u001b\[([?\d;]*)([A-Za-z])|[\r\n\t]|[^\u0000-\u001f\u007f-\u009f]+|./gsu;
/** East Asian wide and full-width characters (UAX 11), and pictures. */
const WIDE =
  /^(?:[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation})/u;
const NO_WIDTH = /^[\p{M}\p{Cf}]+$/u;
const TAB = 8;
/** Marks of pasted text, on and off. */
const PASTE = new Set(['?2004h', '?2004l']);
const together = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export class TerminalScreen extends Writable {
  readonly columns: number;
  readonly rows: number;
  /** Sequences that no part of this program has to send. */
  readonly strange: string[] = [];
  readonly #joins: boolean;
  /** What scrolled out, and then the rows of the screen. */
  readonly #all: Row[];
  /** The first row of the screen. */
  #top = 0;
  #row = 0;
  #column = 0;

  constructor({ columns, rows, joins }: TerminalScreenOptions) {
    super({ decodeStrings: false });
    this.columns = columns;
    this.rows = rows;
    this.#joins = joins;
    this.#all = Array.from({ length: rows }, emptyRow);
  }

  /** All that a person can read, scrolled out or not. */
  get text(): string {
    const rows = this.#all.map(({ cells, isBroken }) => {
      const text = Array.from(cells, (cell = ' ') => cell).join('');
      return isBroken ? text : `${text.trimEnd()}\n`;
    });
    return rows.join('').trimEnd();
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    for (const [whole, numbers = '', letter] of String(chunk).matchAll(SEQUENCE)) {
      if (letter !== undefined) this.#obey(numbers, letter);
      else if (whole === '\r') this.#column = 0;
      // Output of a terminal in raw mode, too: `ONLCR` stays on.
      else if (whole === '\n') this.#feed(false);
      else if (whole === '\t') this.#column = Math.min(this.columns - 1, (Math.floor(this.#column / TAB) + 1) * TAB);
      else if (/\p{Cc}/u.test(whole)) this.strange.push(JSON.stringify(whole));
      else for (const sign of this.#joins ? segments(whole) : whole) this.#put(sign);
    }
    done();
  }

  #obey(numbers: string, letter: string): void {
    const n = Number(numbers || (letter === 'J' || letter === 'K' ? 0 : 1));
    if (letter === 'm' || PASTE.has(`${numbers}${letter}`)) return;
    // A sign in the last column leaves the cursor there; the next one breaks the row.
    this.#column = Math.min(this.#column, this.columns - 1);
    if (letter === 'A') this.#row = Math.max(0, this.#row - n);
    else if (letter === 'B') this.#row = Math.min(this.rows - 1, this.#row + n);
    else if (letter === 'C') this.#column = Math.min(this.columns - 1, this.#column + n);
    else if (letter === 'D') this.#column = Math.max(0, this.#column - n);
    else if (letter === 'G') this.#column = Math.min(this.columns, n) - 1;
    else if (letter === 'K' && n === 0) this.#eraseRight();
    else if (letter === 'J' && n === 0) {
      this.#eraseRight();
      for (let row = this.#row + 1; row < this.rows; row += 1) this.#all[this.#top + row] = emptyRow();
    } else this.strange.push(`CSI ${numbers}${letter}`);
  }

  #eraseRight(): void {
    const row = this.#here();
    row.cells.length = Math.min(row.cells.length, this.#column);
    row.isBroken = false;
  }

  #feed(isBroken: boolean): void {
    this.#here().isBroken = isBroken;
    this.#column = 0;
    this.#row += 1;
    if (this.#row < this.rows) return;
    this.#row = this.rows - 1;
    this.#top += 1;
    this.#all.push(emptyRow());
  }

  #put(sign: string): void {
    const { cells } = this.#here();
    const width = this.#widthOf(sign);
    if (width === 0) {
      const at = cells.findLastIndex((cell, column) => column < this.#column && cell !== '');
      if (at >= 0) cells[at] += sign;
      return;
    }
    if (this.#column + width > this.columns) this.#feed(true);
    const row = this.#here();
    for (let column = 0; column < width; column += 1) row.cells[this.#column + column] = column === 0 ? sign : '';
    this.#column += width;
  }

  #widthOf(sign: string): number {
    if (NO_WIDTH.test(sign)) return 0;
    return WIDE.test(sign) || (this.#joins && sign.includes('\ufe0f')) ? 2 : 1;
  }

  #here(): Row {
    const row = this.#all[this.#top + this.#row];
    if (!row) throw new Error(`there is no row ${this.#row}`);
    return row;
  }
}

function emptyRow(): Row {
  return { cells: [], isBroken: false };
}

function segments(text: string): readonly string[] {
  return Array.from(together.segment(text), ({ segment }) => segment);
}
