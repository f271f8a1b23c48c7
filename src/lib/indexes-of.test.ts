import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leastCpuMs } from '../testing/cpu-time.ts';
import { indexesOf } from './indexes-of.ts';

const LIMIT_MS = 1_000;

/** Of two characters, so that beginnings come again. */
const text = (maxLength: number) => fc.array(fc.constantFrom('a', 'b'), { maxLength }).map((chars) => chars.join(''));
const part = fc
  .tuple(text(6), fc.integer({ min: 1, max: 8 }), text(3))
  .map(([piece, times, end]) => piece.repeat(times) + end)
  .filter((chars) => chars !== '');

test('the places of a text are those where it stands, of characters and of lines', () => {
  const check = (all: string, sought: string) => {
    const places = Array.from(all, (_, at) => at).filter((at) => all.startsWith(sought, at));
    expect([...indexesOf(all, sought)]).toEqual(places);
    expect([...indexesOf(all.split(''), sought.split(''))]).toEqual(places);
  };
  const pair = fc.tuple(part, fc.array(text(9), { maxLength: 8 })).map(([sought, rest]) => [rest.join(sought), sought] as const);
  fc.assert(
    fc.property(fc.oneof(pair, fc.tuple(text(60), part)), ([all, sought]) => check(all, sought)),
    { numRuns: 2_000 },
  );
});

test('nothing stands nowhere', () => {
  expect([...indexesOf('abc', '')]).toEqual([]);
  expect([...indexesOf('', 'a')]).toEqual([]);
});

test.each([
  ['b at its second place', `ab${'a'.repeat(500_000)}`],
  ['b at its end', `${'a'.repeat(500_000)}b`],
])('A45 a text of like characters with a %s is looked for in one pass', (_, sought) => {
  const all = 'a'.repeat(2_000_000);
  expect(leastCpuMs(LIMIT_MS, () => [...indexesOf(all, sought)])).toBeLessThan(LIMIT_MS);
});
