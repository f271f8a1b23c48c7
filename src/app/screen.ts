import { Writable } from 'node:stream';

/** Carriage return, then erase to the end of the line: the prompt and what is typed so far. */
const CLEAR_LINE = '\r\u001b[K';

/**
 * The screen that log and prompt share. What is written to `stderr` here appears above the prompt, which is
 * then drawn again with what was typed so far. Without a prompt it is the process's own stderr.
 */
export class Screen {
  readonly stderr: NodeJS.WritableStream;
  readonly #nameCommands: (text: string) => string;
  #redraw: (() => void) | undefined;

  constructor(
    stderr: NodeJS.WritableStream & { readonly isTTY?: boolean },
    interactive: boolean,
    nameCommands: (text: string) => string = (text) => text,
  ) {
    this.#nameCommands = nameCommands;
    this.stderr =
      interactive && stderr.isTTY
        ? new Writable({
            decodeStrings: false,
            write: (text: string, _encoding, written) => {
              stderr.write(this.#redraw ? `${CLEAR_LINE}${text}` : text);
              this.#redraw?.();
              written();
            },
          })
        : stderr;
  }

  /** To the person, in our words: the commands in it are named as they are called here. */
  say(text: string): void {
    this.stderr.write(this.#nameCommands(text));
  }

  /** Given to whoever draws the prompt. */
  readonly onPrompt = (redraw: () => void): void => {
    this.#redraw = redraw;
  };
}
