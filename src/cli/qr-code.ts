/** A QR code (ISO/IEC 18004, byte mode, level L) of a text, and its drawing on a terminal. */

/** `modules[y][x]`, true = dark; without a margin. */
export type QrModules = readonly (readonly boolean[])[];

/** Error correction of level L, by version 1 to 40 (ISO/IEC 18004 table 9): bytes per block, and blocks. */
const CORRECTION_BYTES = [
  7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26, 28, 30, 30, 30, 30, 30, 30,
  30, 30, 30, 30, 30, 30, 30, 30,
];
const BLOCKS = [
  1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22,
  24, 25,
];
/** Level L in the format information. */
const LEVEL_BITS = 1;

/** The smallest code that holds the text as UTF-8. Throws a RangeError beyond 2953 bytes. */
export function encodeQr(text: string): QrModules {
  const data = Buffer.from(text, 'utf8');
  for (let version = 1; version <= 40; version += 1) {
    const capacity = dataBytes(version);
    // Mode, length, text; the length takes two bytes from version 10 on.
    const bits = 4 + (version < 10 ? 8 : 16) + data.length * 8;
    if (bits <= capacity * 8) return new Code(version, withCorrection(toBytes(data, version, capacity), version)).best();
  }
  throw new RangeError('the text is too long for a QR code');
}

function rawBytes(version: number): number {
  const size = version * 4 + 17;
  const aligned = alignment(version).length;
  // Everything but finders, separators, timing, format, alignment and version information.
  let bits = size * size - 3 * 64 - 2 * 15 - 1 - 2 * (size - 16);
  if (aligned > 0) bits -= (aligned * aligned - 3) * 25 - (aligned - 2) * 2 * 5;
  if (version >= 7) bits -= 2 * 18;
  return Math.floor(bits / 8);
}

function dataBytes(version: number): number {
  return rawBytes(version) - (CORRECTION_BYTES[version - 1] ?? 0) * (BLOCKS[version - 1] ?? 0);
}

/** Coordinates of alignment patterns, along either axis. */
function alignment(version: number): readonly number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  const last = version * 4 + 10;
  return [6, ...Array.from({ length: count - 1 }, (_, index) => last - (count - 2 - index) * step)];
}

function toBytes(data: Buffer, version: number, capacity: number): readonly number[] {
  const bits: number[] = [];
  const put = (value: number, length: number): void => {
    for (let bit = length - 1; bit >= 0; bit -= 1) bits.push((value >>> bit) & 1);
  };
  put(0b0100, 4);
  put(data.length, version < 10 ? 8 : 16);
  for (const byte of data) put(byte, 8);
  put(0, Math.min(4, capacity * 8 - bits.length));
  put(0, -bits.length & 7);
  for (let pad = 0xec; bits.length < capacity * 8; pad ^= 0xec ^ 0x11) put(pad, 8);
  return Array.from({ length: capacity }, (_, at) => bits.slice(at * 8, at * 8 + 8).reduce((byte, bit) => byte * 2 + bit, 0));
}

/** Blocks of data with their Reed-Solomon bytes, interleaved. */
function withCorrection(data: readonly number[], version: number): readonly number[] {
  const blocks = BLOCKS[version - 1] ?? 1;
  const correction = CORRECTION_BYTES[version - 1] ?? 0;
  const total = rawBytes(version);
  const short = blocks - (total % blocks);
  const shortLength = Math.floor(total / blocks) - correction;
  const generator = generatorOf(correction);
  const rows: { data: readonly number[]; correction: readonly number[] }[] = [];
  for (let block = 0, at = 0; block < blocks; block += 1) {
    const part = data.slice(at, at + shortLength + (block < short ? 0 : 1));
    at += part.length;
    rows.push({ data: part, correction: remainder(part, generator) });
  }
  const out: number[] = [];
  for (let at = 0; at <= shortLength; at += 1) for (const row of rows) if (at < row.data.length) out.push(row.data[at] ?? 0);
  for (let at = 0; at < correction; at += 1) for (const row of rows) out.push(row.correction[at] ?? 0);
  return out;
}

/** Product in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((b >>> bit) & 1) * a;
  }
  return product;
}

function generatorOf(degree: number): readonly number[] {
  const result = [...new Array<number>(degree - 1).fill(0), 1];
  for (let root = 1, step = 0; step < degree; step += 1, root = multiply(root, 2)) {
    for (let at = 0; at < degree; at += 1) result[at] = multiply(result[at] ?? 0, root) ^ (result[at + 1] ?? 0);
  }
  return result;
}

function remainder(data: readonly number[], generator: readonly number[]): readonly number[] {
  const result = new Array<number>(generator.length).fill(0);
  for (const byte of data) {
    const factor = byte ^ (result.shift() ?? 0);
    result.push(0);
    for (const [at, coefficient] of generator.entries()) result[at] = (result[at] ?? 0) ^ multiply(coefficient, factor);
  }
  return result;
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

class Code {
  readonly #size: number;
  readonly #version: number;
  readonly #dark: boolean[][];
  /** Patterns that are not data: not masked. */
  readonly #fixed: boolean[][];

  constructor(version: number, bytes: readonly number[]) {
    this.#version = version;
    this.#size = version * 4 + 17;
    const empty = (): boolean[][] => Array.from({ length: this.#size }, () => new Array<boolean>(this.#size).fill(false));
    this.#dark = empty();
    this.#fixed = empty();
    this.#drawPatterns();
    this.#drawData(bytes);
  }

  /** With the mask whose picture is easiest to read. */
  best(): QrModules {
    const drawn = MASKS.map((_, mask) => this.#masked(mask));
    return drawn.reduce((best, next) => (penalty(next) < penalty(best) ? next : best));
  }

  #masked(mask: number): QrModules {
    this.#drawFormat(mask);
    return this.#dark.map((row, y) =>
      row.map((dark, x) => (this.#fixed[y]?.[x] ? dark : dark !== (MASKS[mask]?.(x, y) ?? false))),
    );
  }

  #set(x: number, y: number, dark: boolean): void {
    const [row, fixed] = [this.#dark[y], this.#fixed[y]];
    if (!row || !fixed || x < 0 || x >= this.#size) return;
    row[x] = dark;
    fixed[x] = true;
  }

  #drawPatterns(): void {
    const size = this.#size;
    for (let at = 0; at < size; at += 1) {
      this.#set(6, at, at % 2 === 0);
      this.#set(at, 6, at % 2 === 0);
    }
    for (const [x, y] of [
      [3, 3],
      [size - 4, 3],
      [3, size - 4],
    ] as const)
      this.#drawSquare(x, y, 4, (ring) => ring !== 2 && ring !== 4);
    const centres = alignment(this.#version);
    const last = centres.length - 1;
    for (const [i, x] of centres.entries()) {
      for (const [j, y] of centres.entries()) {
        // The finders have three of the corners.
        if ((i === 0 && j === 0) || (i === 0 && j === last) || (i === last && j === 0)) continue;
        this.#drawSquare(x, y, 2, (ring) => ring !== 1);
      }
    }
    this.#drawFormat(0);
    this.#drawVersion();
  }

  #drawSquare(x: number, y: number, radius: number, dark: (ring: number) => boolean): void {
    for (let dy = -radius; dy <= radius; dy += 1) {
      for (let dx = -radius; dx <= radius; dx += 1) this.#set(x + dx, y + dy, dark(Math.max(Math.abs(dx), Math.abs(dy))));
    }
  }

  #drawFormat(mask: number): void {
    const data = (LEVEL_BITS << 3) | mask;
    let rest = data;
    for (let bit = 0; bit < 10; bit += 1) rest = (rest << 1) ^ ((rest >>> 9) * 0x537);
    const bits = ((data << 10) | rest) ^ 0x5412;
    const on = (bit: number): boolean => ((bits >>> bit) & 1) === 1;
    const size = this.#size;
    for (let bit = 0; bit <= 5; bit += 1) this.#set(8, bit, on(bit));
    this.#set(8, 7, on(6));
    this.#set(8, 8, on(7));
    this.#set(7, 8, on(8));
    for (let bit = 9; bit < 15; bit += 1) this.#set(14 - bit, 8, on(bit));
    for (let bit = 0; bit < 8; bit += 1) this.#set(size - 1 - bit, 8, on(bit));
    for (let bit = 8; bit < 15; bit += 1) this.#set(8, size - 15 + bit, on(bit));
    this.#set(8, size - 8, true);
  }

  #drawVersion(): void {
    if (this.#version < 7) return;
    let rest = this.#version;
    for (let bit = 0; bit < 12; bit += 1) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25);
    const bits = (this.#version << 12) | rest;
    for (let bit = 0; bit < 18; bit += 1) {
      const [far, near] = [this.#size - 11 + (bit % 3), Math.floor(bit / 3)];
      this.#set(far, near, ((bits >>> bit) & 1) === 1);
      this.#set(near, far, ((bits >>> bit) & 1) === 1);
    }
  }

  /** From the right, two columns at a time, up and down in turn, without the column of the timing pattern. */
  #drawData(bytes: readonly number[]): void {
    let bit = 0;
    for (let right = this.#size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      for (let step = 0; step < this.#size; step += 1) {
        const y = ((right + 1) & 2) === 0 ? this.#size - 1 - step : step;
        for (const x of [right, right - 1]) {
          const row = this.#dark[y];
          if (!row || this.#fixed[y]?.[x]) continue;
          row[x] = bit < bytes.length * 8 && (((bytes[bit >>> 3] ?? 0) >>> (7 - (bit & 7))) & 1) === 1;
          bit += 1;
        }
      }
    }
  }
}

/** How hard a picture is to read (ISO/IEC 18004 7.8.3): long runs, squares, finder look-alikes, imbalance. */
function penalty(modules: QrModules): number {
  const size = modules.length;
  const columns = modules.map((_, x) => modules.map((row) => row[x] ?? false));
  let sum = 0;
  let dark = 0;
  for (const line of [...modules, ...columns]) {
    const text = line.map((module) => (module ? '1' : '0')).join('');
    for (const [run] of text.matchAll(/0{5,}|1{5,}/g)) sum += run.length - 2;
    sum += 40 * [...text.matchAll(/(?=10111010000|00001011101)/g)].length;
  }
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const module = modules[y]?.[x];
      if (module) dark += 1;
      const square = [modules[y]?.[x + 1], modules[y + 1]?.[x], modules[y + 1]?.[x + 1]];
      if (square.every((other) => other === module)) sum += 3;
    }
  }
  return sum + 10 * Math.floor(Math.abs((dark * 20) / (size * size) - 10));
}

/** Readers want four modules; two are enough on a screen, and four do not fit 80 columns. */
const MARGIN = 2;
/** Of the fixed 256: themes change the first 16, and which of the terminal's own is darker is unknown. */
const PAINT = { dark: { front: '38;5;16', back: '48;5;16' }, light: { front: '38;5;231', back: '48;5;231' } } as const;

/** Two rows of modules in one line of half blocks, in a black and white of their own. No final newlines. */
export function drawQr(modules: QrModules): readonly string[] {
  const size = modules.length + 2 * MARGIN;
  const at = (x: number, y: number): 'dark' | 'light' => (modules[y - MARGIN]?.[x - MARGIN] ? 'dark' : 'light');
  return Array.from({ length: Math.ceil(size / 2) }, (_, line) => {
    const cells = Array.from({ length: size }, (_unused, x) => {
      const [upper, lower] = [at(x, line * 2), at(x, line * 2 + 1)];
      return `\u001b[${PAINT[upper].front};${PAINT[lower].back}m▀`;
    });
    return `${cells.join('')}\u001b[0m`;
  });
}
