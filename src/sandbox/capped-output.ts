/** What the front keeps, as in the results of tools (spec C4). */
const HEAD_SHARE = 0.7;

/** The front and the end of a stream of any length, in bounded memory. */
export class CappedOutput {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  readonly #head: Buffer[] = [];
  #headLength = 0;
  #tail: Buffer[] = [];
  #tailLength = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#headBytes = Math.ceil(maxBytes * HEAD_SHARE);
    this.#tailBytes = Math.max(0, maxBytes - this.#headBytes);
  }

  /** Keeps copies: a chunk may be part of a larger buffer. */
  write(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#headBytes - this.#headLength;
    if (room > 0) {
      this.#head.push(Buffer.from(chunk.subarray(0, room)));
      this.#headLength += Math.min(room, chunk.length);
    }
    const rest = chunk.subarray(Math.max(0, room));
    if (rest.length === 0 || this.#tailBytes === 0) return;
    this.#tail.push(Buffer.from(rest.subarray(-this.#tailBytes)));
    this.#tailLength += Math.min(rest.length, this.#tailBytes);
    // Put together now and then only: many small chunks must not each copy the whole end.
    if (this.#tailLength > 2 * this.#tailBytes) this.#trim();
  }

  /** Bytes that were discarded. */
  get cut(): number {
    return Math.max(0, this.#total - this.#headLength - this.#tailBytes);
  }

  /** With a mark where bytes were discarded. */
  text(): string {
    this.#trim();
    const [head, tail] = [Buffer.concat(this.#head), Buffer.concat(this.#tail)];
    if (this.cut === 0) return Buffer.concat([head, tail]).toString('utf8');
    return `${head.toString('utf8')}\n\n[... ${this.cut} bytes omitted ...]\n\n${tail.toString('utf8')}`;
  }

  #trim(): void {
    if (this.#tailLength <= this.#tailBytes) return;
    this.#tail = [Buffer.concat(this.#tail).subarray(-this.#tailBytes)];
    this.#tailLength = this.#tailBytes;
  }
}
