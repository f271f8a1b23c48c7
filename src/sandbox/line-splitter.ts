import { StringDecoder } from 'node:string_decoder';

/** A longer line is told in pieces of this length. */
const MAX_LINE_CHARS = 65_536;

/** Tells each line of a stream, without its end. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #tell: (line: string) => void;
  #rest = '';

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  write(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#tellPieces(line);
    while (this.#rest.length > MAX_LINE_CHARS) {
      this.#tell(this.#rest.slice(0, MAX_LINE_CHARS));
      this.#rest = this.#rest.slice(MAX_LINE_CHARS);
    }
  }

  /** The stream is over: what follows its last line end is a line too. */
  end(): void {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = '';
    if (rest !== '') this.#tellPieces(rest);
  }

  #tellPieces(line: string): void {
    for (let at = 0; at === 0 || at < line.length; at += MAX_LINE_CHARS) this.#tell(line.slice(at, at + MAX_LINE_CHARS));
  }
}
