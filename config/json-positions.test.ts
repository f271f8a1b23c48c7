import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonSyntaxError, locate, parseJson } from './json-positions.ts';

test('what JSON.parse reads, it reads equally, and the span of every node is its source', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.nat(4), (text, indent) => {
      const pretty = JSON.stringify(JSON.parse(text), null, indent);
      const { root } = parseJson(pretty);
      expect(JSON.stringify(root.value)).toBe(JSON.stringify(JSON.parse(text)));
      for (const child of root.children?.values() ?? []) {
        expect(JSON.stringify(JSON.parse(pretty.slice(child.span.start, child.span.end)))).toBe(JSON.stringify(child.value));
      }
    }),
  );
});

test('what JSON.parse refuses, it refuses, and the other way round', () => {
  const alphabet = [
    '{',
    '}',
    '[',
    ']',
    '"',
    ',',
    ':',
    '\\',
    '\\u00',
    'e1',
    '1',
    '-',
    '0',
    '.',
    'true',
    'null',
    ' ',
    '\n',
    '\t',
    '\u0001',
    'a',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...alphabet), { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      expect([text, attempt(() => parseJson(text).root.value, JsonSyntaxError)]).toEqual([
        text,
        attempt(() => JSON.parse(text) as unknown, SyntaxError),
      ]);
    }),
    { numRuns: 3000 },
  );
});

/** The value, or `refused` when it threw the expected kind of error. */
function attempt(parse: () => unknown, kind: new (...args: never[]) => Error): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    if (error instanceof kind) return 'refused';
    throw error;
  }
}

test('a path leads to its node, and a path to nothing to the nearest node above', () => {
  const { root } = parseJson('{"a": [{"b": 1}]}');
  expect(locate(root, ['a', 0, 'b'])).toMatchObject({ node: { value: 1, span: { start: 13, end: 14 } }, depth: 3 });
  expect(locate(root, ['a', 0, 'x', 'y'])).toMatchObject({ node: { value: { b: 1 } }, depth: 2 });
});
