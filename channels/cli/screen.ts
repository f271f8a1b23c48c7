// what an interactive terminal shows: finished lines, below them an answer that grows, below that the prompt
import type { Interface } from 'node:readline';
import type { Clock } from '../../src/core/ports.ts';
import { startTimer } from '../../src/lib/timer.ts';
import { widthOf } from './format.ts';

const PROMPT = '> ';
const FRAMES = { unicode: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'], ascii: ['|', '/', '-', '\\'] };
const FRAME_MS = 100;
/** Rows that an answer leaves free while it grows: of the prompt, and of a line that is typed meanwhile. */
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
  /** Rows of the growing answer, which end right above the prompt. */
  #rows = 0;
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

  /** The prompt and what was typed so far. */
  draw(): void {
    this.#readline?.prompt(true);
  }

  /** Another part of the program wrote below the growing answer: that stays as it is, and goes on below. */
  interrupted(): void {
    this.#rows = 0;
    this.draw();
  }

  /** A line was entered: the prompt with it is now a line of the screen. */
  entered(): void {
    this.#rows = 0;
  }

  /** Prints for good, in the place of the growing answer of this key. */
  async print(text: string, key?: string): Promise<void> {
    const isHere = key !== undefined && key === this.#growing;
    if (isHere) this.#growing = undefined;
    await this.#write(`${this.#clear(isHere)}${text}`);
    this.#rows = 0;
    this.draw();
  }

  /** Shows the end of an answer that grows, as much of it as has room. */
  async grow(text: string, key: string): Promise<void> {
    const { columns = 80, rows = 24 } = this.#options.output;
    const lines = text
      .replace(/\n$/, '')
      .split('\n')
      .flatMap((line) => wrapped(line, columns - 1));
    const shown = lines.slice(-Math.max(1, rows - FREE_ROWS));
    const clear = this.#clear(this.#growing === key || this.#growing === undefined);
    this.#growing = key;
    await this.#write(`${clear}${shown.join('\n')}\n`);
    this.#rows = shown.length;
    this.draw();
  }

  /** Up over the prompt, and over the growing answer where that is to be replaced. */
  #clear(withAnswer: boolean): string {
    const { rows: typed = 0 } = this.#readline?.getCursorPos() ?? {};
    const up = typed + (withAnswer ? this.#rows : 0);
    return `\r${up > 0 ? `\u001b[${up}A` : ''}\u001b[J`;
  }

  #turnFrame(): void {
    const since = this.#busySince;
    if (since === undefined) return;
    const { clock, unicode } = this.#options;
    const frames = unicode ? FRAMES.unicode : FRAMES.ascii;
    const seconds = Math.floor((clock.monotonic() - since) / 1_000);
    this.#readline?.setPrompt(`${frames[this.#frame % frames.length]} ${seconds === 0 ? '' : `${seconds} s `}${PROMPT}`);
    this.#frame += 1;
    this.draw();
    this.#stopFrame = startTimer(clock, FRAME_MS, () => this.#turnFrame());
  }

  #idle(): void {
    this.#busySince = undefined;
    this.#stopFrame?.();
    this.#readline?.setPrompt(PROMPT);
    this.draw();
  }

  #write(text: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#options.output.write(text, (error) => (error ? reject(error) : resolve()));
    return promise;
  }
}

/** Cut so that the terminal itself breaks none of them. */
function wrapped(line: string, columns: number): readonly string[] {
  if (widthOf(line) <= columns) return [line];
  const rows: string[] = [];
  let row = '';
  let width = 0;
  for (const char of line) {
    const more = widthOf(char);
    if (width + more > columns) {
      rows.push(row);
      [row, width] = ['', 0];
    }
    row += char;
    width += more;
  }
  return [...rows, row];
}
