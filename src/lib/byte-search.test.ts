import { expect, test } from 'vitest';
import { ByteSearch, encodedForms } from './byte-search.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The same numbers on each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

test('it finds what a search for each needle finds, wherever it stands', () => {
  const next = numbers(7);
  const text = (length: number): string => Array.from({ length }, () => 'ab\0\xff'[next(4)]).join('');
  for (let round = 0; round < 500; round += 1) {
    const needles = Array.from({ length: 1 + next(4) }, () => text(4 + next(9)));
    const within = text(next(60));
    const isFound = new ByteSearch(needles.map(bytes)).isIn(bytes(within));
    expect(isFound, JSON.stringify({ needles, within })).toBe(needles.some((needle) => within.includes(needle)));
  }
});

test('without a needle of four bytes nothing is found', () => {
  for (const needles of [[], ['abc']]) expect(new ByteSearch(needles.map(bytes)).isIn(bytes('abcd'))).toBe(false);
});

test('each form of a text is found in bytes of any kind', () => {
  const search = new ByteSearch(encodedForms('grüße an eve'));
  for (const form of encodedForms('grüße an eve'))
    expect(search.isIn(Buffer.concat([Buffer.from([0, 255, 0]), form, Buffer.from([9])]))).toBe(true);
});

test('needles that begin alike cost no more time than others', () => {
  const alike = Array.from({ length: 5_000 }, (_, n) => bytes(`${'a'.repeat(40)}${n}`));
  const search = new ByteSearch(alike);
  const began = performance.now();
  expect(search.isIn(Buffer.alloc(4 * 1024 * 1024, 'a'))).toBe(false);
  expect(performance.now() - began).toBeLessThan(10_000);
});
