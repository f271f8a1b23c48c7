import { describe, expect, test } from 'vitest';
import type { SessionMessage } from '../../core/session.ts';
import { toGeminiContents, toGeminiFunctions } from './gemini-contents.ts';
import { toGeminiSchema } from './gemini-schema.ts';
import { toHistory } from './history.ts';

let made = 0;
function message(role: SessionMessage['role'], content: string, rest: Partial<SessionMessage> = {}): SessionMessage {
  made += 1;
  return { id: `m${made}`, role, content, timestamp: '2026-01-01T00:00:00Z', ...rest };
}
const call = (id: string, name: string, args = '{}') => ({ id, name, arguments: args });
const result = (id: string, content: string) => message('tool', content, { tool_call_id: id });

function contents(messages: readonly SessionMessage[], model = 'gemini-2.5-flash', signed: Record<string, string> = {}) {
  return toGeminiContents(toHistory({ messages }, { provider: 'gemini', model, vision: true }).steps, model, (id) => signed[id]);
}

describe('contents', () => {
  test('system messages are merged, wherever they stand', () => {
    const { system, steps } = toHistory(
      { messages: [message('system', 'Be terse.'), message('user', 'hi'), message('system', 'Summary: none.')] },
      { provider: 'gemini', model: 'm', vision: true },
    );
    expect(system).toBe('Be terse.\n\nSummary: none.');
    expect(steps).toEqual([{ role: 'user', text: 'hi', images: [] }]);
  });

  test('messages of one side in a row become one turn', () => {
    expect(contents([message('user', 'a'), message('user', 'b'), message('assistant', 'c'), message('assistant', 'd')])).toEqual([
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
      { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    ]);
  });

  test('results follow their calls in the order of the calls, named by the function', () => {
    const got = contents([
      message('user', 'go'),
      message('assistant', 'Looking.', { tool_calls: [call('a', 'one', '{"x":1}'), call('b', 'two')] }),
      result('b', 'B'),
      result('a', 'A'),
      message('user', 'and?'),
    ]);
    expect(got.slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { text: 'Looking.' },
          { functionCall: { id: 'a', name: 'one', args: { x: 1 } } },
          { functionCall: { id: 'b', name: 'two', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'a', name: 'one', response: { output: 'A' } } },
          { functionResponse: { id: 'b', name: 'two', response: { output: 'B' } } },
          { text: 'and?' },
        ],
      },
    ]);
  });

  test('a result without a call is left out, a call without a result gets one that says so', () => {
    const got = contents([
      result('gone', 'orphan'),
      message('user', 'go'),
      message('assistant', '', { tool_calls: [call('a', 'one')] }),
    ]);
    expect(JSON.stringify(got)).not.toContain('orphan');
    expect(got.at(-1)).toEqual({
      role: 'user',
      parts: [{ functionResponse: { id: 'a', name: 'one', response: { error: 'no result was recorded' } } }],
    });
  });

  test('ids that a server used again in a later answer do not mix up the results', () => {
    const turn = (text: string) => [message('assistant', '', { tool_calls: [call('call_0', 'f')] }), result('call_0', text)];
    const responses = contents([message('user', 'go'), ...turn('first'), ...turn('second')])
      .flatMap(({ parts }) => parts)
      .flatMap(({ functionResponse }) => (functionResponse ? [functionResponse.response['output']] : []));
    expect(responses).toEqual(['first', 'second']);
  });

  test('a history trimmed to begin with an answer, or left empty, gets a first turn of the user', () => {
    expect(contents([message('assistant', 'hello')])[0]).toEqual({
      role: 'user',
      parts: [{ text: '(earlier messages left out)' }],
    });
    expect(contents([message('system', 'only')])).toHaveLength(1);
  });

  test('F28 arguments that are not JSON go back as what the model wrote', () => {
    const [, asked] = contents([message('user', 'go'), message('assistant', '', { tool_calls: [call('a', 'f', '{"x":')] })]);
    expect(asked?.parts[0]?.functionCall?.args).toEqual({ malformed_arguments: '{"x":' });
  });

  test('signatures go back with their calls; Gemini 3 gets the documented stand-in where one is lost, on the first call only', () => {
    const messages = [message('user', 'go'), message('assistant', '', { tool_calls: [call('a', 'f'), call('b', 'f')] })];
    const signatures = (model: string, signed: Record<string, string> = {}) =>
      contents(messages, model, signed)[1]?.parts.map(({ thoughtSignature }) => thoughtSignature);
    expect(signatures('gemini-3-pro', { a: 'sig' })).toEqual(['sig', undefined]);
    expect(signatures('gemini-3-pro')).toEqual(['skip_thought_signature_validator', undefined]);
    expect(signatures('models/gemini-flash-latest')).toEqual(['skip_thought_signature_validator', undefined]);
    expect(signatures('gemini-2.5-flash')).toEqual([undefined, undefined]);
  });

  test('pictures are inline; a model that cannot see gets a note in their place', () => {
    const user = message('user', 'look');
    const image = { mime: 'image/png', base64: 'AAAA' } as const;
    const request = { messages: [user], images: new Map([[user.id, [image, image]]]) };
    const parts = (vision: boolean) =>
      toGeminiContents(toHistory(request, { provider: 'gemini', model: 'm', vision }).steps, 'm', () => undefined)[0]?.parts;
    const inline = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    expect(parts(true)).toEqual([{ text: 'look' }, inline, inline]);
    expect(parts(false)).toEqual([{ text: expect.stringMatching(/^look\n\[2 pictures .*cannot see/) }]);
  });
});

describe('tool schemas', () => {
  const property = (schema: object, root: object = {}) =>
    (toGeminiSchema({ type: 'object', properties: { p: schema }, ...root })?.['properties'] as { p: unknown } | undefined)?.p;

  test.each([
    ['keys it does not know', { type: 'string', $comment: 'x', examples: ['y'], readOnly: true }, { type: 'string' }],
    ['keys it knows', { type: 'string', minLength: 1, pattern: '^a' }, { type: 'string', minLength: 1, pattern: '^a' }],
    ['a format it does not know', { type: 'string', format: 'uri' }, { type: 'string' }],
    ['a format it knows', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
    ['null among the types', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    ['several types', { type: ['string', 'number'] }, { anyOf: [{ type: 'string' }, { type: 'number' }] }],
    ['const', { const: 'a' }, { type: 'string', enum: ['a'] }],
    ['an enum of strings', { type: 'string', enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    [
      'an enum of numbers',
      { type: 'integer', description: 'Level.', enum: [1, 2] },
      { type: 'integer', description: 'Level. One of: 1, 2.' },
    ],
    [
      'oneOf',
      { oneOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'boolean' } }, additionalProperties: false }] },
      { anyOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'boolean' } } }] },
    ],
    ['a nullable choice', { anyOf: [{ type: 'number' }, { type: 'null' }] }, { type: 'number', nullable: true }],
    ['an array of anything', { type: 'array' }, { type: 'array', items: { type: 'string' } }],
    [
      'a type beside anyOf',
      { type: 'object', anyOf: [{ type: 'object' }, { type: 'string' }] },
      { anyOf: [{ type: 'object' }, { type: 'string' }] },
    ],
    [
      'allOf',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: { type: 'string' } } },
        ],
      },
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a'] },
    ],
    [
      'required properties that are not there',
      { type: 'object', properties: { a: {} }, required: ['a', 'z'] },
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
    ],
    [
      'properties named like keys',
      { type: 'object', properties: { title: { type: 'string' }, $ref: { type: 'string' } } },
      { type: 'object', properties: { title: { type: 'string' }, $ref: { type: 'string' } } },
    ],
  ])('B7 %s', (_, schema, expected) => {
    expect(property(schema)).toEqual(expected);
  });

  test('B7 references are written out, and one to itself comes to an end', () => {
    const $defs = { city: { type: 'string', description: 'A city.' } };
    expect(property({ $ref: '#/$defs/city' }, { $defs })).toEqual({ type: 'string', description: 'A city.' });
    const tree = { $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } } };
    expect(JSON.stringify(property({ $ref: '#/$defs/node' }, tree))).not.toContain('$ref');
    expect(property({ $ref: '#/$defs/loop' }, { $defs: { loop: { $ref: '#/$defs/loop' } } })).toEqual({ type: 'string' });
  });

  test('a tool that takes nothing has no parameters', () => {
    expect(toGeminiFunctions([{ name: 'now', description: 'Time.', parameters: { type: 'object', properties: {} } }])).toEqual([
      { name: 'now', description: 'Time.' },
    ]);
  });
});
