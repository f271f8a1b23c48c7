/** Looks for many byte strings at once. */

/** Bytes by which a place is judged, and the shortest text that can be looked for. */
const BLOCK = 4;
/** Of the number of entries of a table. */
const [LEAST_BITS, MOST_BITS] = [12, 20] as const;

/**
 * After Wu and Manber: a table says of each block of bytes how far the search may step from it, so that most
 * bytes are never looked at. Memory is bounded by the needles, and time by the bytes: needles that begin
 * alike cost no more than others.
 */
export class ByteSearch {
  /** Bytes of the longest needle. 0 = there is none. */
  readonly longest: number;
  readonly #first: number;
  /** What is left of a hash for the table. */
  readonly #shift: number;
  readonly #steps: Uint8Array;
  /** Which blocks a needle begins with: it spares most places a look at their text. */
  readonly #openings: Uint8Array;
  readonly #beginnings = new Set<string>();
  readonly #needles = new Set<string>();
  readonly #lengths: readonly number[];

  /** Needles of fewer than four bytes are left out. */
  constructor(needles: Iterable<Uint8Array>) {
    const all = [...needles].filter(({ length }) => length >= BLOCK);
    this.#lengths = [...new Set(all.map(({ length }) => length))];
    this.longest = Math.max(0, ...this.#lengths);
    this.#first = all.length === 0 ? 0 : Math.min(...this.#lengths, 255);
    const most = this.#first - BLOCK;
    const bits = Math.ceil(Math.log2(4 * all.length * this.#first + 1));
    this.#shift = 32 - Math.min(MOST_BITS, Math.max(LEAST_BITS, bits));
    this.#steps = new Uint8Array(2 ** (32 - this.#shift)).fill(Math.max(1, most + 1));
    this.#openings = new Uint8Array(2 ** (32 - this.#shift));
    for (const needle of all) {
      const text = Buffer.from(needle).toString('latin1');
      this.#needles.add(text);
      this.#beginnings.add(text.slice(0, this.#first));
      this.#openings[blockAt(needle, 0) >>> this.#shift] = 1;
      for (let at = 0; at <= most; at += 1) {
        const block = blockAt(needle, at) >>> this.#shift;
        this.#steps[block] = Math.min(this.#steps[block] ?? 0, most - at);
      }
    }
  }

  isIn(bytes: Buffer): boolean {
    if (this.longest === 0) return false;
    const [steps, openings, shift] = [this.#steps, this.#openings, this.#shift];
    const [most, last] = [this.#first - BLOCK, bytes.length - BLOCK];
    for (let at = most; at <= last; ) {
      const step = steps[blockAt(bytes, at) >>> shift] ?? 1;
      if (step === 0 && openings[blockAt(bytes, at - most) >>> shift] === 1 && this.#isAt(bytes, at - most)) return true;
      at += step || 1;
    }
    return false;
  }

  #isAt(bytes: Buffer, from: number): boolean {
    if (!this.#beginnings.has(bytes.toString('latin1', from, from + this.#first))) return false;
    return this.#lengths.some(
      (length) => from + length <= bytes.length && this.#needles.has(bytes.toString('latin1', from, from + length)),
    );
  }
}

function blockAt(bytes: Uint8Array, at: number): number {
  const block = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
  return Math.imul(block, 0x9e3779b1);
}

/** The text as programs write it: UTF-8, and UTF-16 in both orders of bytes. */
export function encodedForms(text: string): readonly Buffer[] {
  const little = Buffer.from(text, 'utf16le');
  return [Buffer.from(text, 'utf8'), little, Buffer.from(little).swap16()];
}
