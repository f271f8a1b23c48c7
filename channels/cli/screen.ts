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

  /** The prompt and what was typed so far. */
  draw(): void {
    this.#readline?.prompt(true);
  }

  /** Another part of the program wrote below the growing answer: that stays as it is, and goes on below. */
  interrupted(): void {
    this.#shown = [];
    this.draw();
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
    await this.#write(`${clear}${text}${below}`);
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
    const clear = this.#clear();
    [this.#growing, this.#shown] = [key, shown];
    await this.#write(`${clear}${shown.join('\n')}\n`);
    this.draw();
  }

  /** Up over the prompt and the growing answer. */
  #clear(): string {
    const { rows: typed = 0 } = this.#readline?.getCursorPos() ?? {};
    const up = typed + this.#shown.length;
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
