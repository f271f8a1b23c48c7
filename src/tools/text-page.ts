/** Lines of a file, read in pieces: memory holds the page and one piece, however large the file is. */
import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';

const PIECE_BYTES = 256 * 1024;
const LINE_FEED = 10;
/** Bytes of a character in UTF-8 behind its first. */
const MAX_CHARACTER_REST = 3;

export interface PageRequest {
  /** First and last line to read, counted from 1, inclusive. */
  readonly start: number;
  readonly end: number;
  /** Of the page as it is shown, with its line numbers. */
  readonly maxBytes: number;
  /** More of the file than this is refused. */
  readonly maxFileBytes: number;
  /** A longer line counts as several, each of so many bytes and the rest of a character. Absent = never. */
  readonly wrapBytes?: number;
  readonly signal: AbortSignal;
}

export type PageResult =
  | {
      readonly kind: 'page';
      /** `N│ text` lines. */
      readonly text: string;
      /** Lines of the whole file. */
      readonly lines: number;
      /** The line to go on with, where the page did not hold all that was asked for. */
      readonly goOn?: number;
      readonly isUtf8: boolean;
      /** Some line of the file counts as several. */
      readonly isWrapped: boolean;
    }
  | { readonly kind: 'binary'; readonly bytes: number }
  | { readonly kind: 'too-large' };

/** Reads to the end of the file, to say how many lines it has. */
export async function readPage(file: FileHandle, request: PageRequest): Promise<PageResult> {
  const page = new Page(request);
  let total = 0;
  let isBinary = false;
  const piece = Buffer.alloc(PIECE_BYTES);
  for (;;) {
    request.signal.throwIfAborted();
    const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, null);
    if (bytesRead === 0) break;
    total += bytesRead;
    // Counted while it is read: a file can grow after its size was looked at.
    if (total > request.maxFileBytes) return { kind: 'too-large' };
    const bytes = piece.subarray(0, bytesRead);
    isBinary ||= bytes.includes(0);
    if (!isBinary) page.add(bytes);
  }
  return isBinary ? { kind: 'binary', bytes: total } : page.result();
}

class Page {
  readonly #request: PageRequest;
  readonly #shown: string[] = [];
  #bytes = 0;
  /** The line that is being read, as far as it is kept. */
  #line: Buffer[] = [];
  #lineBytes = 0;
  #hasBegun = false;
  #number = 1;
  #goOn: number | undefined;
  #isUtf8 = true;
  #isWrapped = false;

  constructor(request: PageRequest) {
    this.#request = request;
  }

  add(bytes: Buffer): void {
    let from = 0;
    for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, from)) {
      this.#keep(bytes.subarray(from, at));
      this.#endLine();
      from = at + 1;
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
  }

  result(): PageResult {
    if (this.#hasBegun) this.#endLine();
    const goOn = this.#goOn === undefined ? {} : { goOn: this.#goOn };
    return {
      kind: 'page',
      text: this.#shown.join(''),
      lines: this.#number - 1,
      ...goOn,
      isUtf8: this.#isUtf8,
      isWrapped: this.#isWrapped,
    };
  }

  get #isWanted(): boolean {
    const { start, end } = this.#request;
    return this.#goOn === undefined && this.#number >= start && this.#number <= end;
  }

  #keep(part: Buffer): void {
    const { wrapBytes = Number.POSITIVE_INFINITY } = this.#request;
    let rest = part;
    while (rest.length > 0 && rest.length + this.#lineBytes > wrapBytes) {
      const free = wrapBytes - this.#lineBytes;
      // A character that has begun is not cut; what goes on for longer than one is none.
      const taken = free > 0 ? free : free > -MAX_CHARACTER_REST && isRestOfCharacter(rest[0]) ? 1 : 0;
      if (taken > 0) this.#hold(rest.subarray(0, taken));
      else {
        this.#endLine();
        this.#isWrapped = true;
      }
      rest = rest.subarray(taken);
    }
    this.#hold(rest);
  }

  #hold(part: Buffer): void {
    this.#hasBegun = true;
    const room = this.#request.maxBytes - this.#lineBytes;
    this.#lineBytes += part.length;
    // A copy: the piece is read over.
    if (this.#isWanted && room > 0) this.#line.push(Buffer.from(part.subarray(0, room)));
  }

  #endLine(): void {
    if (this.#isWanted) this.#show(Buffer.concat(this.#line));
    this.#line = [];
    this.#lineBytes = 0;
    this.#hasBegun = false;
    this.#number += 1;
  }

  #show(line: Buffer): void {
    const { maxBytes } = this.#request;
    const number = `${this.#number}│ `;
    const bytes = Buffer.byteLength(number) + this.#lineBytes + 1;
    if (this.#bytes + bytes <= maxBytes) {
      this.#isUtf8 &&= isUtf8(line);
      this.#shown.push(`${number}${line.toString('utf8')}\n`);
      this.#bytes += bytes;
      return;
    }
    this.#goOn = this.#number;
    if (this.#shown.length > 0) return;
    // A line that no page holds is cut, else reading could not go on behind it.
    const mark = `[… the line has ${this.#lineBytes} bytes]\n`;
    const room = maxBytes - Buffer.byteLength(number) - Buffer.byteLength(mark);
    const text = line
      .subarray(0, Math.max(0, room))
      .toString('utf8')
      .replace(/\ufffd$/, '');
    this.#shown.push(`${number}${text}${mark}`);
    this.#goOn = this.#number + 1;
  }
}

/** Of UTF-8. */
function isRestOfCharacter(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}
