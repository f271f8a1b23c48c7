// bytes of a terminal -> the same without the marks of a bracketed paste, whose line feeds become one
// character

import { Transform, type TransformCallback } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../../src/core/ports.ts';
import { startTimer } from '../../src/lib/timer.ts';

/**
 * Asks the terminal to put marks around what is pasted (xterm, "Bracketed Paste Mode"), and takes it back.
 */
export const PASTE_ON = '\u001b[?2004h';
export const PASTE_OFF = '\u001b[?2004l';
const BEGIN = '\u001b[200~';
const END = '\u001b[201~';
/** An Escape that nothing follows for so long is the key. */
const ESCAPE_MS = 50;
/**
 * What stands for a line feed within a line that is edited: the symbol for newline. A person sees that the
 * line goes on, and what they type there themselves is what it says.
 */
export const LINE_FEED = '\u2424';

type TtyInput = NodeJS.ReadableStream & { setRawMode?(on: boolean): unknown; readonly isTTY?: boolean };

/**
 * What a person types, for readline, which would take each line of a pasted text for an entered one. Of
 * other control sequences nothing is changed.
 */
export class PasteFilter extends Transform {
  readonly isTTY = true;
  readonly #input: TtyInput;
  readonly #clock: Clock;
  readonly #decoder = new StringDecoder('utf8');
  #isPasting = false;
  /** The beginning of a mark, perhaps. */
  #rest = '';
  #stopTimer: (() => void) | undefined;

  constructor(input: TtyInput, clock: Clock) {
    super({ decodeStrings: true });
    this.#input = input;
    this.#clock = clock;
    input.pipe(this);
  }

  /** readline wants every key as it is pressed. */
  setRawMode(on: boolean): this {
    this.#input.setRawMode?.(on);
    return this;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#stopTimer?.();
    this.#take(this.#rest + this.#decoder.write(chunk));
    if (this.#rest === '\u001b') this.#stopTimer = startTimer(this.#clock, ESCAPE_MS, () => this.#escape());
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#stopTimer?.();
    this.push(this.#rest);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stopTimer?.();
    this.#input.unpipe(this);
    this.#input.pause();
    done(error);
  }

  #escape(): void {
    this.push(this.#rest);
    this.#rest = '';
  }

  #take(text: string): void {
    let rest = text;
    for (;;) {
      const mark = this.#isPasting ? END : BEGIN;
      const at = rest.indexOf(mark);
      if (at < 0) break;
      this.#say(rest.slice(0, at));
      this.#isPasting = !this.#isPasting;
      rest = rest.slice(at + mark.length);
    }
    // A line feed may follow the carriage return.
    const isCut = this.#isPasting && rest.endsWith('\r');
    const kept = isCut ? 1 : beginningOf(this.#isPasting ? END : BEGIN, rest);
    this.#rest = rest.slice(rest.length - kept);
    this.#say(rest.slice(0, rest.length - kept));
  }

  #say(text: string): void {
    if (text === '') return;
    this.push(this.#isPasting ? text.replace(/\r\n?|\n/g, LINE_FEED).replace(/\p{Cc}/gu, ' ') : text);
  }
}

/** How many of the last characters of a text may begin the mark. */
function beginningOf(mark: string, text: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}
