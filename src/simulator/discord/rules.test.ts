import { expect, test } from 'vitest';
import { refusalOf } from './rules.ts';

const MIB = 1024 * 1024;
const file = (bytes: number) => ({ name: 'a', mime: 'text/plain', bytes: Buffer.alloc(bytes) });
const button = (fields: object = {}) => ({ type: 2, style: 2, label: 'Yes', custom_id: 'a', ...fields });
const menu = (count: number, fields: object = {}) => ({
  type: 3,
  custom_id: 'a',
  options: Array.from({ length: count }, (_, n) => ({ label: 'x'.repeat(100), value: `${n}`, ...fields })),
});
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
  ['a menu of 25 options', row(menu(25))],
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
  ['a menu of 26 options', row(menu(26))],
  ['a menu without options', row(menu(0))],
  ['two menus in a row', row(menu(2), { ...menu(2), custom_id: 'b' })],
  ['a menu beside a button', row(menu(2), button({ custom_id: 'b' }))],
  ['an option with a label of 101 letters', row(menu(2, { label: 'x'.repeat(101) }))],
  ['an option with a value of 101 letters', row(menu(1, { value: 'x'.repeat(101) }))],
  ['two options of one value', row(menu(2, { value: 'same' }))],
])('%s is refused', (_name, body) => {
  expect(refusalOf(body, [], 100)).toMatchObject({ status: 400, body: { code: 50_035 } });
});
