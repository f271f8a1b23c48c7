import { expect, test } from 'vitest';
import { leastCpuMs } from '../../src/testing/cpu-time.ts';
import { piecesOf } from './markdown-pieces.ts';

const paragraph = `${'word '.repeat(100)}\n\n`;

test('a text that is short enough is one piece', () => {
  expect(piecesOf('a\n\nb')).toEqual([{ text: 'a\n\nb', line: 0, isAbsurd: false }]);
});

test('a longer text is cut at empty lines, loses nothing, and each piece knows its line', () => {
  const text = paragraph.repeat(80);
  const pieces = piecesOf(text);
  expect(pieces.map((piece) => piece.text).join('')).toBe(text);
  expect(pieces.every((piece) => piece.text.length <= 16_384 && !piece.isAbsurd)).toBe(true);
  for (const { text: piece, line } of pieces) expect(text.split('\n').slice(line).join('\n').startsWith(piece)).toBe(true);
});

test('no piece ends within code', () => {
  const code = `\`\`\`sh\n${'echo one\n\n'.repeat(900)}\`\`\`\n\n`;
  const pieces = piecesOf(paragraph.repeat(20) + code + paragraph.repeat(20));
  expect(pieces.filter((piece) => (piece.text.split('```').length - 1) % 2 === 1)).toEqual([]);
});

test('what has no empty line for too long is shown as it was written', () => {
  expect(piecesOf('x'.repeat(20_000)).map((piece) => piece.isAbsurd)).toEqual([true]);
  const [first, last] = piecesOf(`${paragraph}${'x'.repeat(20_000)}`);
  expect([first?.isAbsurd, last?.isAbsurd]).toEqual([false, true]);
});

test.each(['\r', '\u2028'])('lines that end in %j are looked at in one pass', (end) => {
  const answers = Array.from({ length: 8 }, () => end.repeat(16_000));
  expect(leastCpuMs(300, () => answers.map(piecesOf))).toBeLessThan(300);
});
