import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { drawQr, encodeQr, type QrModules } from './qr-code.ts';

const dots = (modules: QrModules): string[] => modules.map((row) => row.map((dark) => (dark ? '#' : '.')).join(''));

/** The screen as a picture: each half of a character in its colour there. Throws for other characters. */
function picture(lines: readonly string[]): Buffer {
  const scale = 4;
  const rows: string[] = [];
  for (const line of lines) {
    const plain = line.replaceAll('\u001b[', '[').replace(/\[0m$/, '');
    const cells = [...plain.matchAll(/\[38;5;(16|231);48;5;(16|231)m▀/g)];
    expect(cells.map(([cell]) => cell).join('')).toBe(plain);
    for (const half of [1, 2]) rows.push(cells.map((cell) => (cell[half] === '16' ? '1 ' : '0 ').repeat(scale)).join(''));
  }
  const width = (rows[0]?.length ?? 0) / 2;
  return Buffer.from(
    `P1\n${width} ${rows.length * scale}\n${rows.flatMap((row) => Array<string>(scale).fill(row)).join('\n')}\n`,
  );
}

test('a short text is version 1 with its three finders and the dark module', () => {
  const modules = dots(encodeQr('gatehouse'));
  expect(modules).toHaveLength(21);
  const finder = ['#######', '#.....#', '#.###.#', '#.###.#', '#.###.#', '#.....#', '#######'];
  expect(modules.slice(0, 7).map((row) => row.slice(0, 7))).toEqual(finder);
  expect(modules.slice(0, 7).map((row) => row.slice(-7))).toEqual(finder);
  expect(modules.slice(-7).map((row) => row.slice(0, 7))).toEqual(finder);
  expect(modules[13]?.[8]).toBe('#');
});

test('the size grows with the text, and what is too long is refused', () => {
  expect(encodeQr('x'.repeat(17))).toHaveLength(21);
  expect(encodeQr('x'.repeat(18))).toHaveLength(25);
  expect(encodeQr('x'.repeat(2_953))).toHaveLength(177);
  expect(() => encodeQr('x'.repeat(2_954))).toThrow(RangeError);
});

test('a code to link an account fits 80 columns and 40 lines, in colours of its own', () => {
  const lines = drawQr(encodeQr(`https://wa.me/settings/linked_devices#${'x'.repeat(230)}`));
  expect(lines.length).toBeLessThanOrEqual(40);
  expect((lines[0]?.split('▀').length ?? 1) - 1).toBeLessThanOrEqual(80);
});

test.for([1, 17, 100, 154, 269, 321, 700, 1_500, 2_953])(
  'an independent reader decodes the drawing of %i characters',
  async (length, context) => {
    needs(context, 'zbarimg', '--version');
    await using dir = await tempDir();
    const text = Array.from({ length }, (_, index) => 'aZ9/+=,#:'[(index * 7) % 9]).join('');
    const file = join(dir.path, 'qr.pbm');
    await writeFile(file, picture(drawQr(encodeQr(text))));
    const { stdout } = spawnSync('zbarimg', ['--quiet', '--raw', file], { encoding: 'utf8' });
    expect(stdout.replace(/\n$/, '')).toBe(text);
  },
);
