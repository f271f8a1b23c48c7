import { expect, test } from 'vitest';
import { bmp, gif, jpeg, png, tiff, webp } from '../testing/pictures.ts';
import { fileTypeOf, isRecording, settleType } from './file-type.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const box = (brand: string): Buffer => latin1(`\0\0\0\x18ftyp${brand}\0\0\0\0`);

function windowsProgram(): Buffer {
  const bytes = Buffer.alloc(0x100);
  bytes.write('MZ');
  bytes.writeUInt32LE(0x80, 0x3c);
  bytes.write('PE\0\0', 0x80, 'latin1');
  return bytes;
}

test.each<readonly [string, Buffer, string | undefined]>([
  ['.jpg', jpeg(), 'image/jpeg'],
  ['.png', png(), 'image/png'],
  ['.gif', gif(), 'image/gif'],
  ['.webp', webp(), 'image/webp'],
  ['.bmp', bmp(), 'image/bmp'],
  ['.tiff', tiff(), 'image/tiff'],
  ['.heic', box('heic'), 'image/heic'],
  ['.avif', box('avif'), 'image/avif'],
  ['.ogg', latin1('OggS\0\x02'), 'audio/ogg'],
  ['.wav', latin1('RIFF\x24\0\0\0WAVEfmt '), 'audio/wav'],
  ['.flac', latin1('fLaC\0'), 'audio/flac'],
  ['.amr', latin1('#!AMR\n'), 'audio/amr'],
  ['.silk', latin1('\x02#!SILK_V3'), 'audio/silk'],
  ['.m4a', box('M4A '), 'audio/mp4'],
  ['.mp3', latin1('ID3\x04'), 'audio/mpeg'],
  ['.mp3', latin1('\xff\xfb\x90\x44'), 'audio/mpeg'],
  ['.aac', latin1('\xff\xf1\x50\x80'), 'audio/aac'],
  ['.wma', latin1('\x30\x26\xb2\x75\x8e\x66\xcf\x11'), 'audio/x-ms-wma'],
  ['.mp4', box('isom'), 'video/mp4'],
  ['.mov', box('qt  '), 'video/quicktime'],
  ['.3gp', box('3gp4'), 'video/3gpp'],
  ['.webm', latin1('\x1a\x45\xdf\xa3'), 'video/webm'],
  ['.pdf', latin1('%PDF-1.7\n'), 'application/pdf'],
  ['.pdf', latin1('\r\n\r\n%PDF-1.4\n'), 'application/pdf'],
  ['.zip', latin1('PK\x03\x04'), 'application/zip'],
  ['.gz', latin1('\x1f\x8b\x08\0'), 'application/gzip'],
  ['.exe', windowsProgram(), 'application/vnd.microsoft.portable-executable'],
  ['.elf', latin1('\x7fELF'), 'application/x-executable'],
  ['', latin1('BM is short for benchmark, and this is text'), undefined],
  ['', latin1('MZ begins a name. '.repeat(20)), undefined],
  ['', latin1('\xff\xfe'), undefined],
  ['', latin1('#!/bin/sh'), undefined],
  ['', Buffer.alloc(0), undefined],
  ['', Buffer.alloc(4_096), undefined],
])('%s is told by its bytes (case %#)', (ending, bytes, type) => {
  expect(fileTypeOf(bytes)).toBe(type);
  expect(settleType(bytes, {})).toEqual({ mime: type, ending });
});

test('A23 a claim that the bytes contradict is not believed, neither the type nor the ending', () => {
  expect(settleType(windowsProgram(), { mime: 'application/pdf', ending: '.pdf' })).toEqual({
    mime: 'application/vnd.microsoft.portable-executable',
    ending: '.exe',
  });
  expect(settleType(latin1('<html>'), { mime: 'image/png', ending: '.PNG' })).toEqual({ mime: undefined, ending: '' });
  expect(settleType(png(), { mime: 'text/html', ending: '.html' })).toEqual({ mime: 'image/png', ending: '.png' });
  expect(settleType(Buffer.alloc(0), { mime: 'audio/ogg', ending: '.ogg' })).toEqual({ mime: undefined, ending: '' });
});

test('a claim that says the same in other words, or something the bytes cannot tell, is kept', () => {
  expect(settleType(jpeg(), { mime: 'image/JPG', ending: '.jpeg' })).toEqual({ mime: 'image/jpg', ending: '.jpeg' });
  expect(settleType(latin1('OggS'), { mime: 'audio/ogg; codecs=opus', ending: '.oga' })).toEqual({
    mime: 'audio/ogg',
    ending: '.oga',
  });
  const word = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
  expect(settleType(latin1('PK\x03\x04'), { mime: word, ending: '.docx' })).toEqual({ mime: word, ending: '.docx' });
  expect(settleType(latin1('no zip'), { mime: word, ending: '.docx' })).toEqual({ mime: undefined, ending: '' });
  expect(settleType(latin1('a,b'), { mime: 'text/csv', ending: '.csv' })).toEqual({ mime: 'text/csv', ending: '.csv' });
});

test('only what begins as a recording is one', () => {
  for (const bytes of [latin1('OggS'), box('isom'), latin1('#!AMR\n'), latin1('\x1a\x45\xdf\xa3')])
    expect(isRecording(bytes)).toBe(true);
  for (const bytes of [png(), latin1('PK\x03\x04'), latin1('hello'), Buffer.alloc(0)]) expect(isRecording(bytes)).toBe(false);
});

test('a view into a larger buffer is judged by its own bytes', () => {
  const large = Buffer.concat([png(), latin1('plain')]);
  expect(fileTypeOf(large.subarray(png().length))).toBeUndefined();
});
