/** Small files whose headers state any size: enough for readers of headers, and whole for PNG and GIF. */
import { crc32, deflateSync } from 'node:zlib';

interface Animated {
  readonly frames?: number;
}

interface Written extends Animated {
  /** What a model that sees would read in the picture: a chunk `tEXt` stands for it. */
  readonly words?: string;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A PNG that every decoder takes when it is as large as it says: a grey line for each of at most 64 rows. */
export function png(width = 2, height = 2, { frames, words }: Written = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  const rows = deflateSync(Buffer.alloc((1 + Math.min(width, 64)) * Math.min(height, 64)));
  const control = Buffer.alloc(8);
  control.writeUInt32BE(frames ?? 1);
  const animation = frames === undefined ? [] : [chunk('acTL', control)];
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    ...animation,
    ...(words === undefined ? [] : [chunk('tEXt', Buffer.from(`Comment\0${words}`, 'latin1'))]),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Each frame is one pixel of it. */
export function gif(width = 2, height = 2, { frames = 1 }: Animated = {}): Buffer {
  const screen = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  screen.writeUInt16LE(width, 6);
  screen.writeUInt16LE(height, 8);
  const frame = Buffer.from(',\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0', 'latin1');
  return Buffer.concat([screen, ...Array.from({ length: frames }, () => frame), Buffer.from(';')]);
}

/** With an EXIF segment in front, as cameras write it, that holds a whole small JPEG and its end mark. */
export function jpeg(width = 2, height = 2): Buffer {
  const thumbnail = Buffer.from('Exif\0\0\xff\xd8\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x01\x11\0\xff\xd9', 'latin1');
  const exif = Buffer.alloc(4);
  exif.writeUInt16BE(0xffe1, 0);
  exif.writeUInt16BE(thumbnail.length + 2, 2);
  const frame = Buffer.from('\xff\xc2\0\x0b\x08\0\0\0\0\x01\x01\x11\0', 'latin1');
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  const scan = Buffer.from('\xff\xda\0\x08\x01\x01\0\0\x3f\0\x2a\xff\xd9', 'latin1');
  return Buffer.concat([Buffer.from('\xff\xd8', 'latin1'), exif, thumbnail, frame, scan]);
}

/** `kind`: what the picture itself is stored as; an extended one states its canvas apart from it. */
export function webp(
  width = 2,
  height = 2,
  { frames, kind = 'VP8L' }: Animated & { kind?: 'VP8L' | 'VP8 ' | 'VP8X' } = {},
): Buffer {
  const part = (type: string, data: Buffer): Buffer => {
    const head = Buffer.alloc(8, type, 'latin1');
    head.writeUInt32LE(data.length, 4);
    return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
  };
  const lossless = (w: number, h: number): Buffer => {
    const data = Buffer.alloc(6, 0x2f);
    data.writeUInt32LE(((w - 1) & 0x3fff) | (((h - 1) & 0x3fff) << 14), 1);
    return part('VP8L', data);
  };
  const lossy = Buffer.alloc(10);
  lossy.write('\x9d\x01\x2a', 3, 'latin1');
  lossy.writeUInt16LE(width & 0x3fff, 6);
  lossy.writeUInt16LE(height & 0x3fff, 8);
  const canvas = Buffer.alloc(10);
  canvas.writeUIntLE(width - 1, 4, 3);
  canvas.writeUIntLE(height - 1, 7, 3);
  const frame = part('ANMF', Buffer.concat([Buffer.alloc(16), lossless(1, 1)]));
  const parts =
    kind === 'VP8X' || frames !== undefined
      ? [part('VP8X', canvas), ...(frames === undefined ? [lossless(1, 1)] : Array.from({ length: frames }, () => frame))]
      : [kind === 'VP8 ' ? part('VP8 ', lossy) : lossless(width, height)];
  const body = Buffer.concat([Buffer.from('WEBP'), ...parts]);
  const head = Buffer.from('RIFF\0\0\0\0');
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body]);
}

export function bmp(width = 2, height = 2): Buffer {
  const file = Buffer.alloc(54 + 16);
  file.write('BM');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(width, 18);
  file.writeInt32LE(-height, 22);
  return file;
}

/** `order`: of bytes. `frames`: pages, each of which names the next, the last one the first in a `loop`. */
export function tiff(
  width = 2,
  height = 2,
  { frames = 1, order = 'II', loop = false }: Animated & { order?: 'II' | 'MM'; loop?: boolean } = {},
): Buffer {
  const little = order === 'II';
  const write = (bytes: number, value: number): Buffer => {
    const to = Buffer.alloc(bytes);
    if (little) to.writeUIntLE(value, 0, bytes);
    else to.writeUIntBE(value, 0, bytes);
    return to;
  };
  const entry = (tag: number, value: number): Buffer => Buffer.concat([write(2, tag), write(2, 4), write(4, 1), write(4, value)]);
  const page = 2 + 2 * 12 + 4;
  const pages = Array.from({ length: frames }, (_, index) => {
    const next = index + 1 < frames ? 8 + page * (index + 1) : loop ? 8 : 0;
    return Buffer.concat([write(2, 2), entry(256, width), entry(257, height), write(4, next)]);
  });
  return Buffer.concat([Buffer.from(order), write(2, 42), write(4, 8), ...pages]);
}
