import { expect, test } from 'vitest';
import { refusalOf } from './rules.ts';

const MIB = 1024 * 1024;
const file = (bytes: number) => ({ name: 'a', mime: 'text/plain', bytes: Buffer.alloc(bytes) });
const button = (fields: object = {}) => ({ type: 2, style: 2, label: 'Yes', custom_id: 'a', ...fields });
const row = (...components: object[]) => ({ components: [{ type: 1, components }] });

test('a file of 20 MiB is taken, a larger one and a larger request are not', () => {
  expect(refusalOf({}, [file(20 * MIB)], 21 * MIB)).toBeUndefined();
  expect(refusalOf({}, [file(20 * MIB + 1)], 21 * MIB)).toMatchObject({ status: 413, body: { code: 40_005 } });
  expect(refusalOf({}, [file(13 * MIB), file(13 * MIB)], 26 * MIB)).toMatchObject({ status: 413 });
});

test.each([
  ['a nonce of 25 letters', { nonce: 'n'.repeat(25) }],
  ['five buttons in a row', row(...[1, 2, 3, 4, 5].map((n) => button({ custom_id: `${n}` })))],
  ['a label of 80 emojis', row(button({ label: '😀'.repeat(80) }))],
  ['no components', { components: [] }],
])('%s is taken', (_name, body) => {
  expect(refusalOf(body, [], 100)).toBeUndefined();
});

test.each([
  ['a nonce of 26 letters', { nonce: 'n'.repeat(26) }],
  ['six buttons in a row', row(...[1, 2, 3, 4, 5, 6].map((n) => button({ custom_id: `${n}` })))],
  ['a row without buttons', row()],
  ['a button outside of a row', { components: [button()] }],
  ['six rows', { components: Array.from({ length: 6 }, () => row(button()).components[0]) }],
  ['a label of 81 letters', row(button({ label: 'x'.repeat(81) }))],
  ['a button without a label', row(button({ label: '' }))],
  ['an id of 101 letters', row(button({ custom_id: 'x'.repeat(101) }))],
  ['the same id twice', row(button(), button())],
])('%s is refused', (_name, body) => {
  expect(refusalOf(body, [], 100)).toMatchObject({ status: 400, body: { code: 50_035 } });
});
