import { expect, test } from 'vitest';
import { ImageQuota, imageTypeOf, MAX_IMAGE_BYTES, MAX_IMAGES, toImage } from './pictures.ts';

const JPEG = Buffer.from('\xff\xd8\xff\xe0\0\x10JFIF', 'latin1');

test.each<[string, Buffer, string | undefined]>([
  ['jpeg', JPEG, 'image/jpeg'],
  ['png', Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\r', 'latin1'), 'image/png'],
  ['gif', Buffer.from('GIF89a\x01\0\x01\0'), 'image/gif'],
  ['old gif', Buffer.from('GIF87a\x01\0\x01\0'), 'image/gif'],
  ['webp', Buffer.from('RIFF\x24\0\0\0WEBPVP8 '), 'image/webp'],
  ['wav', Buffer.from('RIFF\x24\0\0\0WAVEfmt '), undefined],
  ['bmp', Buffer.from('BM\x36\0'), undefined],
  ['svg, which is a program', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="x()">'), undefined],
  ['half a head', JPEG.subarray(0, 2), undefined],
  ['nothing', Buffer.alloc(0), undefined],
])('%s is told by its first bytes', (_name, bytes, mime) => {
  expect(imageTypeOf(bytes)).toBe(mime);
  expect(toImage(bytes)).toEqual(mime === undefined ? undefined : { mime, base64: bytes.toString('base64') });
});

test('a view into a larger buffer gives its own bytes only', () => {
  const large = Buffer.concat([Buffer.from('secret'), JPEG, Buffer.from('secret')]);
  expect(toImage(large.subarray(6, 6 + JPEG.length))?.base64).toBe(JPEG.toString('base64'));
});

test('the largest picture has 5 MB as base64, which is what the strictest provider counts', () => {
  const largest = Buffer.concat([JPEG, Buffer.alloc(MAX_IMAGE_BYTES - JPEG.length)]);
  expect(toImage(largest)?.base64).toHaveLength(5 * 2 ** 20);
  expect(toImage(Buffer.concat([largest, Buffer.alloc(1)]))).toBeUndefined();
});

test('four small pictures fit into one message, three large ones, and a refused one takes no place', () => {
  const small = new ImageQuota();
  expect(Array.from({ length: MAX_IMAGES + 1 }, () => small.refuse(10))).toEqual([...Array(4).fill(undefined), 'too many']);
  const large = new ImageQuota();
  expect(large.refuse(MAX_IMAGE_BYTES + 1)).toBe('too large');
  expect([1, 2, 3, 4].map(() => large.refuse(MAX_IMAGE_BYTES))).toEqual([undefined, undefined, undefined, 'too many']);
  expect(large.refuse(1_000)).toBeUndefined();
});
