// what an interactive terminal shows: finished lines, below them an answer that grows, below that the prompt
import type { Interface } from 'node:readline';
import type { Clock } from '../../src/core/ports.ts';
import { startTimer } from '../../src/lib/timer.ts';
import { widthOf } from './format.ts';

const PROMPT = '> ';
const FRAMES = { unicode: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'], ascii: ['|', '/', '-', '\\'] };
const FRAME_MS = 100;
/** Rows that a growing answer leaves free at least: for the prompt, and for what is typed meanwhile. */
const FREE_ROWS = 4;

type Output = NodeJS.WritableStream & { readonly columns?: number; readonly rows?: number };

export interface PromptScreenOptions {
  readonly output: Output;
  readonly clock: Clock;
  readonly unicode: boolean;
}

/** Draws on one terminal. What others write to it comes through `interrupted`. */
export class PromptScreen {
  readonly #options: PromptScreenOptions;
  #readline: Interface | undefined;
  /** Rows of the growing answer as they are on the screen, right above the prompt. */
  #shown: readonly string[] = [];
  #growing: string | undefined;
  #stopFrame: (() => void) | undefined;
  #busySince: number | undefined;
  #frame = 0;

  constructor(options: PromptScreenOptions) {
    this.#options = options;
  }

  /** Undefined: there is no prompt any more. */
  attach(readline: Interface | undefined): void {
    this.#readline = readline;
    readline?.setPrompt(PROMPT);
  }

  /** A turn is under way: the prompt says so, and for how long. */
  get isBusy(): boolean {
    return this.#busySince !== undefined;
  }

  busy(signal: AbortSignal): void {
    if (signal.aborted || this.#busySince !== undefined) return;
    this.#busySince = this.#options.clock.monotonic();
    signal.addEventListener('abort', () => this.#idle(), { once: true });
    this.#turnFrame();
  }

  /** The prompt, or another one, and what was typed so far, in their place. */
  draw(prompt?: string): void {
    if (!this.#readline) return;
    const home = this.#home();
    if (prompt !== undefined) this.#readline.setPrompt(prompt);
    this.#drawBelow(home).catch(() => 'told by the next answer');
  }

  /** Another part of the program wrote below the growing answer: that stays as it is, and goes on below. */
  interrupted(): void {
    this.#shown = [];
    this.#drawBelow('').catch(() => 'told by the next answer');
  }

  /** A line was entered: the prompt with it is now a line of the screen. */
  entered(): void {
    this.#shown = [];
  }

  /** Prints for good, in the place of the growing answer of this key; above one of another key. */
  async print(text: string, key: string): Promise<void> {
    const isHere = key === this.#growing;
    const clear = this.#clear();
    if (isHere) [this.#growing, this.#shown] = [undefined, []];
    const below = this.#shown.map((line) => `${line}\n`).join('');
    await this.#drawBelow(`${clear}${text}${below}`);
  }

  /** Shows the end of an answer that grows, as much of it as has room. */
  async grow(text: string, key: string): Promise<void> {
    const { columns = 80, rows = 24 } = this.#options.output;
    // One row more, into which the line that is typed may grow before the answer does again.
    const room = Math.max(1, rows - Math.max(FREE_ROWS, this.#promptRows(columns) + 1));
    const lines = text.replace(/\n$/, '').split('\n').slice(-room);
    const shown = lines.flatMap((line) => wrapped(line, columns - 1)).slice(-room);
    const clear = this.#clear();
    [this.#growing, this.#shown] = [key, shown];
    await this.#drawBelow(`${clear}${shown.join('\n')}\n`);
  }

  #promptRows(columns: number): number {
    const { line = '' } = this.#readline ?? {};
    return Math.ceil((widthOf(`${this.#readline?.getPrompt() ?? ''}${line}`) + 1) / columns);
  }

  /** Up over the prompt and the growing answer. */
  #clear(): string {
    const up = this.#shown.length;
    return `${this.#home()}${up > 0 ? `\u001b[${up}A` : ''}\u001b[J`;
  }

  /**
   * To where the prompt begins. A sign in the last column may have left the cursor behind it in that row: a
   * blank takes it to the next one, where readline counts it.
   */
  #home(): string {
    const { rows = 0, cols = 0 } = this.#readline?.getCursorPos() ?? {};
    return rows === 0 ? '\r' : `${cols === 0 ? ' ' : ''}\r\u001b[${rows}A`;
  }

  #turnFrame(): void {
    const since = this.#busySince;
    if (since === undefined) return;
    const { clock, unicode } = this.#options;
    const frames = unicode ? FRAMES.unicode : FRAMES.ascii;
    const seconds = Math.floor((clock.monotonic() - since) / 1_000);
    const prompt = `${frames[this.#frame % frames.length]} ${seconds === 0 ? '' : `${seconds} s `}${PROMPT}`;
    this.#frame += 1;
    this.draw(prompt);
    this.#stopFrame = startTimer(clock, FRAME_MS, () => this.#turnFrame());
  }

  #idle(): void {
    this.#busySince = undefined;
    this.#stopFrame?.();
    this.draw(PROMPT);
  }

  /**
   * Writes, and draws the prompt where that ends before anything else is written. Readline would first go up
   * by the rows of the prompt that it drew last.
   */
  #drawBelow(text: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#options.output.write(text, (error) => (error ? reject(error) : resolve()));
    const readline = this.#readline;
    if (readline) Object.assign(readline, { prevRows: 0 }).prompt(true);
    return promise;
  }
}

const TAB = 8;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of styleText.
const COLOR = /(\u001b\[[\d;]*m)/;
const signs = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cut so that the terminal itself breaks none of them, and no sign nor colour is cut. */
function wrapped(line: string, columns: number): readonly string[] {
  if (line.length <= columns && /^[\x20-\x7E]*$/.test(line)) return [line];
  const rows: string[] = [];
  let row = '';
  let width = 0;
  const pieces = line.split(COLOR).flatMap((piece) => (COLOR.test(piece) ? [piece] : segmentsOf(piece)));
  for (const piece of pieces) {
    const more = mostWidth(piece, width);
    if (width + more > columns) {
      rows.push(row);
      [row, width] = ['', 0];
    }
    row += piece;
    width += more;
  }
  return [...rows, row];
}

function segmentsOf(text: string): readonly string[] {
  return Array.from(signs.segment(text), ({ segment }) => segment);
}

/**
 * Columns that a sign takes at most: terminals that join no signs show the parts of a picture side by side,
 * others make a letter with U+FE0F as wide as a picture.
 */
function mostWidth(sign: string, column: number): number {
  if (COLOR.test(sign)) return 0;
  if (sign === '\t') return TAB - (column % TAB);
  return Array.from(sign).reduce((sum, part) => sum + (part === '\ufe0f' ? 1 : widthOf(part)), 0);
}
