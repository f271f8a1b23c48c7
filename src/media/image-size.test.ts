import { describe, expect, test } from 'vitest';
import { cpuMs } from '../testing/cpu-time.ts';
import { bmp, gif, jpeg, png, tiff, webp } from '../testing/pictures.ts';
import { IMAGE_SCAN_BYTES, imageFault, imageSizeOf, MAX_FRAMES, MAX_PIXELS } from './image-size.ts';

type Make = (width: number, height: number) => Buffer;

/** The largest size that a format can state, or the 50,000 × 50,000 of common bombs where it can. */
const FORMATS: readonly (readonly [name: string, make: Make, bomb: readonly [number, number]])[] = [
  ['PNG', png, [50_000, 50_000]],
  ['animated PNG', (width, height) => png(width, height, { frames: 1 }), [0x7fffffff, 1]],
  ['JPEG behind EXIF with a thumbnail', jpeg, [50_000, 50_000]],
  ['GIF', gif, [50_000, 50_000]],
  ['WebP, lossless', webp, [16_384, 16_384]],
  ['WebP, lossy', (width, height) => webp(width, height, { kind: 'VP8 ' }), [16_383, 16_383]],
  ['WebP, extended', (width, height) => webp(width, height, { kind: 'VP8X' }), [50_000, 50_000]],
  ['BMP', bmp, [50_000, 50_000]],
  ['TIFF, little-endian', tiff, [50_000, 50_000]],
  ['TIFF, big-endian', (width, height) => tiff(width, height, { order: 'MM' }), [50_000, 50_000]],
];

describe.each(FORMATS)('%s', (_name, make, bomb) => {
  test('a picture of 640 × 480 is what it is', () => {
    expect(imageSizeOf(make(640, 480))).toMatchObject({ width: 640, height: 480, frames: 1, whole: true });
    expect(imageFault(make(640, 480))).toBeUndefined();
  });

  test('F39 a bomb of some bytes is refused by its header', () => {
    const bytes = make(...bomb);
    expect(bytes.length).toBeLessThan(5_000);
    expect(imageFault(bytes)).toEqual({ kind: 'bomb', detail: `it has ${bomb[0]} × ${bomb[1]} pixels` });
  });

  test('F39 cut off anywhere it is damaged, or still seen to be a bomb, and never taken for a small picture', () => {
    const [good, bad] = [make(640, 480), make(...bomb)];
    for (let length = 0; length < good.length - 1; length += 1) {
      const size = imageSizeOf(good.subarray(0, length));
      if (size) expect([length, size.width * size.height]).toEqual([length, expect.any(Number)]);
      expect([length, imageFault(good.subarray(0, length))?.kind ?? 'taken']).not.toEqual([length, 'bomb']);
      expect([length, imageFault(bad.subarray(0, length))?.kind]).not.toEqual([length, undefined]);
    }
  });
});

test('a side longer than models take is told, however small the picture', () => {
  expect(imageFault(png(1_080, 8_000))).toBeUndefined();
  expect(imageFault(png(1_080, 8_001))?.kind).toBe('long');
  expect(imageFault(png(8_001, 1))?.kind).toBe('long');
});

test('a picture of exactly the limit passes, one more pixel does not', () => {
  const side = Math.sqrt(MAX_PIXELS);
  expect(imageFault(png(side, side))).toBeUndefined();
  expect(imageFault(png(side, side + 1))?.kind).toBe('bomb');
});

test.each([
  ['GIF', (frames: number) => gif(2, 2, { frames })],
  ['PNG that only states them', (frames: number) => png(2, 2, { frames })],
  ['WebP', (frames: number) => webp(2, 2, { frames })],
  ['TIFF', (frames: number) => tiff(2, 2, { frames })],
])('F39 %s with thousands of frames is refused, with a thousand it is not', (_name, make) => {
  expect(imageFault(make(MAX_FRAMES))).toBeUndefined();
  expect(imageFault(make(MAX_FRAMES + 1))).toEqual({ kind: 'bomb', detail: `it has ${MAX_FRAMES + 1} frames` });
  expect(imageFault(make(5_000))?.kind).toBe('bomb');
});

test('F39 a frame larger than its canvas, and a second header that contradicts the first, count with the largest', () => {
  const frame = Buffer.from(gif(2, 2));
  frame.writeUInt16LE(60_000, frame.indexOf(',') + 5);
  frame.writeUInt16LE(60_000, frame.indexOf(',') + 7);
  expect(imageFault(frame)?.kind).toBe('bomb');
  const twice = jpeg(2, 2);
  const header = jpeg(60_000, 60_000);
  const from = header.indexOf('\xff\xc2', 0, 'latin1');
  const at = twice.indexOf('\xff\xda', 0, 'latin1');
  expect(imageFault(Buffer.concat([twice.subarray(0, at), header.subarray(from, from + 13), twice.subarray(at)]))?.kind).toBe(
    'bomb',
  );
});

test('a GIF without its trailer is whole, one that ends within a picture is not', () => {
  expect(imageFault(gif().subarray(0, -1))).toBeUndefined();
  expect(imageFault(gif().subarray(0, -2))?.kind).toBe('damaged');
});

test('a JPEG whose height follows behind its first scan is damaged: nobody knows its size by its header', () => {
  expect(imageFault(jpeg(640, 0))?.kind).toBe('damaged');
});

test('F39 pages that name each other in a circle, and directories without end, cost no time', () => {
  const started = cpuMs();
  expect(imageFault(tiff(2, 2, { loop: true }))?.kind).toBe('bomb');
  const endless = Buffer.alloc(IMAGE_SCAN_BYTES, 'II*\0\x08\0\0\0\xff\xff', 'latin1');
  expect(imageFault(endless)?.kind).toBe('damaged');
  // The same directory of 65,535 entries a thousand times: no size behind the first ten thousand is read.
  const circle = Buffer.alloc(1_000_000);
  circle.write('II*\0\x08\0\0\0\xff\xff', 'latin1');
  circle.writeUInt32LE(8, 10 + 12 * 0xffff);
  for (const [index, tag] of [256, 257].entries()) {
    circle.writeUInt16LE(tag, 10 + 12 * (20_000 + index));
    circle.writeUInt32LE(2, 10 + 12 * (20_000 + index) + 8);
  }
  expect(imageFault(circle)?.kind).toBe('damaged');
  const filled = Buffer.alloc(IMAGE_SCAN_BYTES, 0xff);
  filled.write('\xff\xd8\xff', 'latin1');
  expect(imageFault(filled)?.kind).toBe('damaged');
  const blocks = Buffer.concat([gif().subarray(0, 19), Buffer.from('!\xfe', 'latin1'), Buffer.alloc(IMAGE_SCAN_BYTES, 1)]);
  expect(imageFault(blocks)?.kind).toBe('damaged');
  expect(cpuMs() - started).toBeLessThan(5_000);
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['text', Buffer.from('just text, or <svg width="99999"/>')],
  ['a signature alone', png().subarray(0, 8)],
  ['no pixels', png(0, 0)],
])('%s has no size', (_name, bytes) => {
  expect(imageSizeOf(bytes)).toBeUndefined();
});

test('a polyglot is measured as what it begins with', () => {
  const page = Buffer.from('<html><script>alert(1)</script>');
  expect(imageSizeOf(Buffer.concat([gif(3, 4), page]))).toMatchObject({ width: 3, height: 4, whole: true });
  expect(imageSizeOf(Buffer.concat([page, gif(3, 4)]))).toBeUndefined();
});

test('A45 10,000 mutated pictures: none crashes the reader, reads past its bytes, or takes long', () => {
  const sources = FORMATS.flatMap(([, make]) => [make(640, 480), make(2, 2)]);
  let state = 7;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
  const started = cpuMs();
  for (let round = 0; round < 10_000; round += 1) {
    const bytes = Buffer.from(sources[round % sources.length] ?? []);
    for (let times = 1 + next(4); times > 0; times -= 1) bytes[next(bytes.length)] = next(3) === 0 ? 0xff : next(256);
    const size = imageSizeOf(bytes.subarray(0, 1 + next(bytes.length)));
    for (const value of size ? [size.width, size.height, size.frames] : [])
      expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
  }
  expect(cpuMs() - started).toBeLessThan(5_000);
});
