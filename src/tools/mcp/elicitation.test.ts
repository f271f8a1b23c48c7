import { expect, test } from 'vitest';
import { type Elicitation, type Field, readAnswer, readElicitation, withDefaults } from './elicitation.ts';

function ask(properties: unknown, more: object = {}): Elicitation | string {
  return readElicitation({ message: 'Please', requestedSchema: { type: 'object', properties, ...more } });
}

function field(schema: object): Field {
  const read = ask({ it: schema });
  if (typeof read === 'string' || !read.fields[0]) throw new Error(`not read: ${JSON.stringify(read)}`);
  return read.fields[0];
}

/** The value, or `no` where the words do not fit. */
function said(schema: object, words: string): unknown {
  const read = readAnswer(field(schema), words);
  return 'value' in read ? read.value : 'no';
}

const FRIENDS = { type: 'string', enum: ['m', 'r', '7'], enumNames: ['Monica', 'Rachel', 'Seven'] };
const TITLED = {
  type: 'string',
  oneOf: [
    { const: 'h1', title: 'Superman' },
    { const: 'h2', title: 'Green Lantern' },
  ],
};
const MANY = { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['Guitar', 'Piano', 'Drum kit'] } };

test.each<[object, string, unknown]>([
  [{ type: 'string' }, '  sea green ', 'sea green'],
  [{ type: 'string', minLength: 3 }, 'ab', 'no'],
  [{ type: 'string', maxLength: 2 }, '👍👍', '👍👍'],
  [{ type: 'string', maxLength: 1 }, '👍👍', 'no'],
  [{ type: 'string', format: 'email' }, 'ada@example.org', 'ada@example.org'],
  [{ type: 'string', format: 'email' }, 'ada', 'no'],
  [{ type: 'string', format: 'uri' }, 'https://example.org/a', 'https://example.org/a'],
  [{ type: 'string', format: 'uri' }, 'example', 'no'],
  [{ type: 'string', format: 'date' }, '2026-02-28', '2026-02-28'],
  [{ type: 'string', format: 'date' }, '2026-02-30', 'no'],
  [{ type: 'string', format: 'date-time' }, '2026-01-31T09:30:00+01:00', '2026-01-31T09:30:00+01:00'],
  [{ type: 'string', format: 'date-time' }, 'tomorrow', 'no'],
  [{ type: 'number', minimum: 0, maximum: 10 }, '3.14', 3.14],
  [{ type: 'number' }, '-2', -2],
  [{ type: 'number', maximum: 10 }, '11', 'no'],
  [{ type: 'number' }, '0x10', 'no'],
  [{ type: 'number' }, '', 'no'],
  [{ type: 'number' }, 'Infinity', 'no'],
  [{ type: 'integer' }, '42', 42],
  [{ type: 'integer' }, '42.5', 'no'],
  [{ type: 'integer' }, '99999999999999999999', 'no'],
  [{ type: 'boolean' }, 'yes', true],
  [{ type: 'boolean' }, 'no', false],
  [{ type: 'boolean' }, 'maybe', 'no'],
  [FRIENDS, '#3', '7'],
  [FRIENDS, '2', 'r'],
  [FRIENDS, 'monica', 'm'],
  [FRIENDS, '#4', 'no'],
  [FRIENDS, 'm', 'no'],
  [TITLED, 'Green Lantern', 'h2'],
  [MANY, '1, 3', ['Guitar', 'Drum kit']],
  [MANY, '3 3', ['Drum kit']],
  [MANY, 'drum kit; piano', ['Drum kit', 'Piano']],
  [MANY, '1 2 3', 'no'],
  [MANY, '', 'no'],
  [MANY, '1, 9', 'no'],
])('a field %j takes the words %j as %j', (schema, words, value) => {
  expect(said(schema, words)).toEqual(value);
});

test('defaults that fit their field stand in for what was not answered, and others are forgotten', () => {
  const read = ask({
    ...{
      name: { type: 'string', default: 'Ada' },
      age: { type: 'integer', default: 3.5 },
      ok: { type: 'boolean', default: false },
    },
    ...{ one: { ...TITLED, default: 'h2' }, wrong: { ...TITLED, default: 'h9' }, many: { ...MANY, default: ['Piano'] } },
    ...{ none: { type: 'string' }, empty: { ...MANY, default: [] } },
  });
  if (typeof read === 'string') throw new Error(read);
  expect(withDefaults(read, { name: 'Bo' })).toEqual({ name: 'Bo', ok: false, one: 'h2', many: ['Piano'] });
});

const deep = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
const many = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, { type: 'string' }]));

test.each<[string, unknown, RegExp]>([
  ['nothing', undefined, /not valid/],
  ['a list', [], /not valid/],
  ['no form', { message: 'x' }, /not valid/],
  ['a message that is none', { message: 7, requestedSchema: { type: 'object', properties: {} } }, /not valid/],
  ['a depth of 5,000', { message: 'x', requestedSchema: deep(5_000) }, /nested too deeply/],
  ['an address', { mode: 'url', message: 'x', url: 'https://example.org', elicitationId: 'e' }, /not sent to an address/],
  ['a mode of its own', { mode: 'voice', message: 'x' }, /not sent to an address/],
])('hostile: a question with %s is not asked', (_name, params, reason) => {
  expect(readElicitation(params)).toMatch(reason);
});

test.each<[string, object, RegExp]>([
  ['twenty-one fields', many(21), /more than 20 fields/],
  ['a description of 100 KiB', { a: { type: 'string', description: 'x'.repeat(100_000) } }, /too large/],
  ['an object in it', { a: { type: 'object', properties: {} } }, /a field of its form is not valid/],
  ['a field that is no schema', { a: 7 }, /a field/],
  ['a hundred choices', { a: { type: 'string', enum: Array.from({ length: 100 }, (_, n) => `${n}`) } }, /a field/],
  ['no choices', { a: { type: 'string', enum: [] } }, /a field/],
  ['a list of anything', { a: { type: 'array', items: {} } }, /a field/],
  ['two choices that look the same', { a: { type: 'string', enum: ['yes [a]', 'yes (a)'] } }, /a field/],
  ['a choice that is ours', { a: { type: 'string', enum: ['go', 'decline'] } }, /a field/],
  ['a choice without a name', { a: { type: 'string', enum: ['go', ' '] } }, /a field/],
  ['a password', { password: { type: 'string' } }, /a password or a key/],
  ['a password under another name', { a: { type: 'string', title: 'Your API key' } }, /a password or a key/],
  ['a PIN', { user_pin: { type: 'string' } }, /a password or a key/],
])('hostile: a form with %s is not shown', (_name, properties, reason) => {
  expect(ask(properties)).toMatch(reason);
});

test('a number, a choice or a yes about a password is no password', () => {
  expect(ask({ reset_password: { type: 'boolean' }, token_count: { type: 'integer' }, secret: TITLED })).toMatchObject({
    fields: [{ name: 'reset_password' }, { name: 'token_count' }, { name: 'secret' }],
  });
});

test('hostile: what people do not see in a choice is spelt out, and none looks like a code or a link', () => {
  const read = field({ type: 'string', enum: ['a\u202eb', '[x](http://y)', 'take ABCDEF now', 'z'.repeat(200)] });
  const labels = 'options' in read ? read.options.map(({ label }) => label) : [];
  expect(labels).toEqual(['a\\u202eb', '(x)(http://y)', 'take abcdef now', `${'z'.repeat(60)}…`]);
});

test('hostile: a field called __proto__ changes no object', () => {
  const params = JSON.parse(
    '{"message":"x","requestedSchema":{"type":"object","properties":{"__proto__":{"type":"string","default":"a"}}}}',
  );
  const read = readElicitation(params);
  if (typeof read !== 'string') withDefaults(read, {});
  expect(({} as Record<string, unknown>)['type']).toBeUndefined();
});
