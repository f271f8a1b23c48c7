import { expect, test } from 'vitest';
import { list, num, obj, objects, parseJson, parseObject, str } from './json.ts';

test.each([undefined, null, 7, 'x', true, [1]])('%j is no object, and reads as an empty one', (value) => {
  expect(obj(value)).toEqual({});
  expect(parseObject(JSON.stringify(value))).toBeUndefined();
});

test('values of another type are absent', () => {
  expect([str(7), num('7'), num(Number.NaN), list({ length: 1 })]).toEqual([undefined, undefined, undefined, []]);
  expect([str('7'), num(7), list([7])]).toEqual(['7', 7, [7]]);
  expect(objects([{ a: 1 }, null, [1], 'x'])).toEqual([{ a: 1 }]);
  expect(objects('x')).toEqual([]);
});

test('a text is one object, or nothing', () => {
  expect(parseObject('{"a":1}')).toEqual({ a: 1 });
  expect([parseObject('{"a":'), parseObject(undefined), parseJson(''), parseJson('7')]).toEqual([
    undefined,
    undefined,
    undefined,
    7,
  ]);
});
