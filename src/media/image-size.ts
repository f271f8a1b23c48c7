/**
 * How large a picture would be once decoded, read from its headers alone. Nothing is decompressed, no length
 * found in the file is allocated, and every step moves forward, so that a hostile file costs at most one pass
 * over its bytes.
 */

/**
 * 8,000 × 8,000 is the most Anthropic takes (platform.claude.com, vision, "Evaluate image size"), and above
 * what cameras of phones make in full (50 megapixels). Decoded it takes 256 MB.
 */
export const MAX_PIXELS = 64_000_000;
/** Of either side, on the same page: a request with a longer one is refused as a whole. */
export const MAX_SIDE = 8_000;
/** A minute at 16 frames a second. Decoders that unfold an animation keep every frame. */
export const MAX_FRAMES = 1_000;
/** Looked at from the front, where the size stands. A picture that ends behind this is shown to no model. */
export const IMAGE_SCAN_BYTES = 4 * 2 ** 20;

/** TIFF entries that are read. A size behind more of them, or on a thousandth page, is not believed. */
const MAX_TIFF_ENTRIES = 10_000;

export interface ImageSize {
  /** The largest that any header of the file states. */
  readonly width: number;
  readonly height: number;
  /** Pictures or pages found, also by what a header states. */
  readonly frames: number;
  /** False when the file ends before the format says it may. */
  readonly whole: boolean;
}

/** Undefined when the bytes are none of PNG, JPEG, GIF, WebP, BMP, TIFF, or end before a size is stated. */
export function imageSizeOf(bytes: Uint8Array): ImageSize | undefined {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, IMAGE_SCAN_BYTES));
  const found = new Found();
  const magic = at.toString('latin1', 0, 12);
  if (magic.startsWith('\x89PNG\r\n\x1a\n')) readPng(at, found);
  else if (magic.startsWith('\xff\xd8\xff')) readJpeg(at, found);
  else if (/^GIF8[79]a/.test(magic)) readGif(at, found);
  else if (magic.startsWith('RIFF') && magic.endsWith('WEBP')) readWebp(at, found);
  else if (magic.startsWith('BM')) readBmp(at, found);
  else if (/^(?:II[*+]\0|MM\0[*+])/.test(magic)) readTiff(at, found);
  return found.width === 0 || found.height === 0 ? undefined : found;
}

class Found implements ImageSize {
  width = 0;
  height = 0;
  frames = 1;
  whole = false;

  /** Sizes that differ are a trick of some file: whichever a decoder believes, the largest counts. */
  size(width: number, height: number): void {
    this.width = Math.max(this.width, width);
    this.height = Math.max(this.height, height);
  }
}

/** PNG (W3C, third edition): chunks of length, type, data, checksum. IHDR first, IEND last, acTL: frames. */
function readPng(at: Buffer, found: Found): void {
  let frames = 0;
  for (let place = 8; place + 12 <= at.length; ) {
    const length = at.readUInt32BE(place);
    const type = at.toString('latin1', place + 4, place + 8);
    const data = place + 8;
    if ((type === 'IHDR' || type === 'fcTL') && data + 12 <= at.length) {
      // fcTL has a sequence number in front of its size.
      const from = type === 'IHDR' ? data : data + 4;
      found.size(at.readUInt32BE(from), at.readUInt32BE(from + 4));
    }
    if (type === 'acTL' && data + 4 <= at.length) found.frames = Math.max(found.frames, at.readUInt32BE(data));
    if (type === 'fcTL') frames += 1;
    if (type === 'IEND') found.whole = true;
    if (found.whole) break;
    place = data + length + 4;
  }
  found.frames = Math.max(found.frames, frames);
}

/** JPEG (ITU-T T.81 annex B): segments of marker and length up to the scan. SOF0 to SOF15 state the size. */
function readJpeg(at: Buffer, found: Found): void {
  let place = 2;
  while (place + 4 <= at.length) {
    if (at[place] !== 0xff) return;
    const marker = at[place + 1] ?? 0;
    // Fill bytes, and the markers without a segment.
    if (marker === 0xff) place += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) place += 2;
    else {
      const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
      if (isFrame && place + 9 <= at.length) found.size(at.readUInt16BE(place + 7), at.readUInt16BE(place + 5));
      // From a scan on come data, later scans and the end: a progressive file has no second frame header.
      if (marker === 0xda) {
        found.whole = at.indexOf('\xff\xd9', place, 'latin1') !== -1;
        return;
      }
      place += 2 + Math.max(2, at.readUInt16BE(place + 2));
    }
  }
}

/** GIF89a: screen, images (0x2c), extensions (0x21), trailer (0x3b). Data end with an empty sub-block. */
function readGif(at: Buffer, found: Found): void {
  if (at.length < 13) return;
  found.size(at.readUInt16LE(6), at.readUInt16LE(8));
  found.frames = 0;
  let place = 13 + colorTable(at[10] ?? 0);
  while (place < at.length) {
    const kind = at[place];
    if (kind === 0x3b) found.whole = found.frames > 0;
    if (kind === 0x21) place = skipSubBlocks(at, place + 2);
    else if (kind === 0x2c && place + 10 <= at.length) {
      found.frames += 1;
      found.size(at.readUInt16LE(place + 5), at.readUInt16LE(place + 7));
      place = skipSubBlocks(at, place + 11 + colorTable(at[place + 9] ?? 0));
    } else return;
  }
  // Some programs leave the trailer out, and decoders do not miss it.
  if (place === at.length) found.whole = found.frames > 0;
}

function colorTable(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}

function skipSubBlocks(at: Buffer, from: number): number {
  let place = from;
  for (let length = at[place] ?? 0; length !== 0; length = at[place] ?? 0) place += 1 + length;
  return place + 1;
}

/**
 * WebP (RFC 9649): RIFF chunks, padded to an even length. VP8X states the canvas, ANMF is a frame, VP8 and
 * VP8L are pictures.
 */
function readWebp(at: Buffer, found: Found): void {
  found.whole = at.length >= 8 + at.readUInt32LE(4);
  let frames = 0;
  for (let place = 12; place + 8 <= at.length; ) {
    const type = at.toString('latin1', place, place + 4);
    const length = at.readUInt32LE(place + 4);
    const data = place + 8;
    if (type === 'VP8X' && data + 10 <= at.length) found.size(at.readUIntLE(data + 4, 3) + 1, at.readUIntLE(data + 7, 3) + 1);
    readWebpPicture(at, type, data, found);
    if (type === 'ANMF' && data + 24 <= at.length) {
      frames += 1;
      found.size(at.readUIntLE(data + 6, 3) + 1, at.readUIntLE(data + 9, 3) + 1);
      // Behind 16 bytes about the frame come its chunks: the picture, or its alpha channel before it.
      readWebpPicture(at, at.toString('latin1', data + 16, data + 20), data + 24, found);
    }
    place = data + length + (length % 2);
  }
  found.frames = Math.max(found.frames, frames);
}

/**
 * VP8: RFC 6386 section 9.1, 14 bits each behind the start code. VP8L: RFC 9649 section 3.4, 14 bits each,
 * less one.
 */
function readWebpPicture(at: Buffer, type: string, data: number, found: Found): void {
  if (type === 'VP8 ' && data + 10 <= at.length) {
    found.size(at.readUInt16LE(data + 6) & 0x3fff, at.readUInt16LE(data + 8) & 0x3fff);
  }
  if (type === 'VP8L' && data + 5 <= at.length) {
    const bits = at.readUInt32LE(data + 1);
    found.size((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
  }
}

/** BITMAPCOREHEADER has 16-bit sizes, later headers signed 32-bit ones. A negative height: top to bottom. */
function readBmp(at: Buffer, found: Found): void {
  if (at.length < 26) return;
  if (at.readUInt32LE(14) === 12) found.size(at.readUInt16LE(18), at.readUInt16LE(20));
  else found.size(Math.abs(at.readInt32LE(18)), Math.abs(at.readInt32LE(22)));
  found.whole = at.length >= at.readUInt32LE(2);
}

/**
 * TIFF 6.0 and BigTIFF: directories of entries, each naming the next; 256 and 257 are width and height. Ends
 * at `MAX_FRAMES` + 1.
 */
function readTiff(at: Buffer, found: Found): void {
  const little = at[0] === 0x49;
  const big = at[little ? 2 : 3] === 0x2b;
  const read = (place: number, bytes: number): number => {
    if (place < 0 || place + bytes > at.length) return 0;
    if (bytes === 8) return Number(little ? at.readBigUInt64LE(place) : at.readBigUInt64BE(place));
    return little ? at.readUIntLE(place, bytes) : at.readUIntBE(place, bytes);
  };
  // Count, entry, place of the value in it, link. Classic: 2, 12, 8, 4 bytes. BigTIFF: 8, 20, 12, 8.
  const [count, entry, value, link] = big ? [8, 20, 12, 8] : [2, 12, 8, 4];
  let pages = 0;
  let budget = MAX_TIFF_ENTRIES;
  for (let place = read(big ? 8 : 4, link); place > 0 && place < at.length && pages <= MAX_FRAMES; pages += 1) {
    const entries = Math.min(read(place, count), Math.ceil(at.length / entry));
    for (let index = 0; index < entries; index += 1) {
      const from = place + count + index * entry;
      const tag = read(from, 2);
      // Type 3 is a 16-bit number, which stands in the first bytes of the field in either byte order.
      if (tag === 256 || tag === 257) {
        const size = read(from + value, read(from + 2, 2) === 3 ? 2 : 4);
        found.size(tag === 256 ? size : 0, tag === 257 ? size : 0);
      }
      budget -= 1;
      if (budget < 0) return;
      // Tags are in ascending order.
      if (tag > 257) break;
    }
    place = read(place + count + entries * entry, link);
  }
  found.frames = Math.max(1, pages);
  found.whole = true;
}

/**
 * Why a picture must not reach a decoder; undefined when it may. `bomb`: refused, whatever it is wanted for.
 * `damaged`: a decoder would fail. `long`: a model would refuse it. A file that is no picture of the six
 * formats is none of these.
 */
export function imageFault(
  bytes: Uint8Array,
): { readonly kind: 'bomb' | 'damaged' | 'long'; readonly detail: string } | undefined {
  const size = imageSizeOf(bytes);
  if (!size) return { kind: 'damaged', detail: 'damaged or cut off' };
  const { width, height, frames } = size;
  if (width * height > MAX_PIXELS) return { kind: 'bomb', detail: `it has ${width} × ${height} pixels` };
  if (frames > MAX_FRAMES) return { kind: 'bomb', detail: `it has ${frames} frames` };
  if (!size.whole) return { kind: 'damaged', detail: 'damaged or cut off' };
  return Math.max(width, height) > MAX_SIDE ? { kind: 'long', detail: `it has ${width} × ${height} pixels` } : undefined;
}
