import { describe, expect, test } from 'vitest';
import type { Json } from '../../core/message.ts';
import type { SessionMessage } from '../../core/session.ts';
import { toGeminiContents, toGeminiFunctions } from './gemini-contents.ts';
import { toHistory } from './history.ts';

let made = 0;
function message(role: SessionMessage['role'], content: string, rest: Partial<SessionMessage> = {}): SessionMessage {
  made += 1;
  return { id: `m${made}`, role, content, timestamp: '2026-01-01T00:00:00Z', ...rest };
}
const call = (id: string, name: string, args = '{}') => ({ id, name, arguments: args });
const result = (id: string, content: string) => message('tool', content, { tool_call_id: id });

function contents(messages: readonly SessionMessage[], model = 'gemini-2.5-flash') {
  return toGeminiContents(toHistory({ messages }, { provider: 'gemini', model, vision: true }).steps, model);
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

  test('a picture of a kind that the provider refuses is told of and not sent', () => {
    const image = { mime: 'image/webp', base64: 'UklG' } as const;
    const images = new Map([['u', [{ mime: 'image/gif', base64: 'R0lG' } as const, image]]]);
    const messages = [message('user', 'look', { id: 'u' })];
    const shown = (provider: string) => toHistory({ messages, images }, { provider, model: 'm', vision: true }).steps;
    const text = 'look\n[1 picture was attached; this model cannot see them]';
    expect(shown('gemini')).toEqual([{ role: 'user', text, images: [image] }]);
    expect(shown('xai')).toMatchObject([{ images: [] }]);
    expect(shown('anthropic')).toMatchObject([{ text: 'look', images: [{ mime: 'image/gif' }, image] }]);
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
      .flatMap(({ functionResponse }) => (functionResponse ? [functionResponse.response?.['output']] : []));
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

  const kept = (model: string, parts: readonly object[]) => ({ provider: 'gemini', model, data: { parts: parts as Json[] } });

  test('M6 an answer goes back with each signature on the part that it came with, and calls without an id get none', () => {
    const model = 'gemini-3-pro';
    const parts = [
      { chars: 3 },
      { chars: 4, signature: 's1' },
      { call: 'p1', id: 'p1', signature: 's2' },
      { call: 'p2' },
      { chars: 0, signature: 's3' },
    ];
    const calls = [call('a', 'f'), call('b', 'g')].map((one, at) => ({ ...one, provider_ids: [`p${at + 1}`] }));
    const answer = message('assistant', 'one two', { tool_calls: calls, provider_state: kept(model, parts) });
    expect(contents([message('user', 'go'), answer, result('a', 'A'), result('b', 'B')], model).slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { text: 'one' },
          { text: ' two', thoughtSignature: 's1' },
          { functionCall: { id: 'p1', name: 'f', args: {} }, thoughtSignature: 's2' },
          { functionCall: { name: 'g', args: {} } },
          { text: '', thoughtSignature: 's3' },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'p1', name: 'f', response: { output: 'A' } } },
          { functionResponse: { name: 'g', response: { output: 'B' } } },
        ],
      },
    ]);
  });

  test('Vertex AI, which refuses ids, is sent none with calls and results of another provider', () => {
    const messages = [message('user', 'go'), message('assistant', '', { tool_calls: [call('a', 'one')] }), result('a', 'A')];
    const { steps } = toHistory({ messages }, { provider: 'vertex', model: 'gemini-3.8-flash', vision: true });
    const [, asked, answered] = toGeminiContents(steps, 'gemini-3.8-flash', 'vertex');
    expect(asked?.parts).toEqual([
      { functionCall: { name: 'one', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
    ]);
    expect(answered?.parts).toEqual([{ functionResponse: { name: 'one', response: { output: 'A' } } }]);
  });

  test('M6 a call that came twice and ran once goes back twice, each with its result', () => {
    const state = kept('gemini-3-pro', [
      { call: 'p1', id: 'p1', signature: 's' },
      { call: 'p2', id: 'p2' },
    ]);
    const calls = [{ ...call('a', 'f'), provider_ids: ['p1', 'p2'] }];
    const answer = message('assistant', '', { tool_calls: calls, provider_state: state });
    const ids = contents([message('user', 'go'), answer, result('a', 'A')], 'gemini-3-pro')
      .flatMap(({ parts }) => parts)
      .flatMap(({ functionCall, functionResponse }) => functionCall?.id ?? functionResponse?.['id'] ?? []);
    expect(ids).toEqual(['p1', 'p2', 'p1', 'p2']);
  });

  test('M6 what was kept of an answer is ignored when its text was edited or a call is missing', () => {
    const state = kept('gemini-2.5-flash', [
      { chars: 3, signature: 's' },
      { call: 'p1', id: 'p1' },
    ]);
    const calls = [{ ...call('a', 'f'), provider_ids: ['p1'] }];
    for (const answer of [
      message('assistant', 'ones', { tool_calls: calls, provider_state: state }),
      message('assistant', 'one', { provider_state: state }),
      message('assistant', 'one', { tool_calls: [...calls, call('b', 'g')], provider_state: state }),
    ]) {
      const sent = JSON.stringify(contents([message('user', 'go'), answer]));
      expect(sent).not.toContain('thoughtSignature');
      expect(sent).not.toContain('"p1"');
    }
  });

  test('Gemini 3 gets the documented stand-in for signatures that are not there, in the turn in progress on the first call', () => {
    const turn = (n: number) => [
      message('user', `go ${n}`),
      message('assistant', '', { tool_calls: [call(`a${n}`, 'f'), call(`b${n}`, 'f')] }),
    ];
    const signatures = (model: string) =>
      contents([...turn(1), message('assistant', 'done'), ...turn(2)], model)
        .filter(({ role }) => role === 'model')
        .flatMap(({ parts }) => parts.map(({ thoughtSignature }) => thoughtSignature));
    const stand = 'skip_thought_signature_validator';
    expect(signatures('gemini-3-pro')).toEqual([undefined, undefined, undefined, stand, undefined]);
    expect(signatures('models/gemini-flash-latest')).toEqual([undefined, undefined, undefined, stand, undefined]);
    expect(signatures('gemini-2.5-flash')).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });

  test('words of a person right behind results are sent with them, and the turn in progress goes on', () => {
    const calls = message('assistant', '', { tool_calls: [call('a', 'f')] });
    const [, answer] = contents([message('user', 'go'), calls, result('a', 'A'), message('user', 'and?')], 'gemini-3-pro');
    expect(answer?.parts[0]?.thoughtSignature).toBe('skip_thought_signature_validator');
  });

  test('pictures of a result stand inside it for Gemini 3, behind all results for older models', () => {
    const back = result('a', 'A');
    const messages = [message('user', 'go'), message('assistant', '', { tool_calls: [call('a', 'f'), call('b', 'f')] }), back];
    const images = new Map([[back.id, [{ mime: 'image/png', base64: 'AAAA' } as const]]]);
    const inline = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    const parts = (model: string) =>
      toGeminiContents(toHistory({ messages, images }, { provider: 'gemini', model, vision: true }).steps, model).at(-1)?.parts;
    expect(parts('gemini-3-pro')?.map(({ functionResponse }) => functionResponse?.['parts'])).toEqual([[inline], undefined]);
    expect(parts('gemini-2.5-pro')?.slice(2)).toEqual([inline]);
  });

  test('pictures are inline; a model that cannot see gets a note in their place', () => {
    const user = message('user', 'look');
    const image = { mime: 'image/png', base64: 'AAAA' } as const;
    const request = { messages: [user], images: new Map([[user.id, [image, image]]]) };
    const parts = (vision: boolean) =>
      toGeminiContents(toHistory(request, { provider: 'gemini', model: 'm', vision }).steps, 'm')[0]?.parts;
    const inline = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    expect(parts(true)).toEqual([{ text: 'look' }, inline, inline]);
    expect(parts(false)).toEqual([{ text: expect.stringMatching(/^look\n\[2 pictures .*cannot see/) }]);
  });
});

describe('tool schemas', () => {
  const $defs = { city: { type: 'string' }, node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } };
  const parameters = {
    type: 'object',
    $defs,
    properties: { a: { $ref: '#/$defs/city' }, b: { oneOf: [{ const: 1 }, { type: 'null' }] } },
  };

  test('go as JSON Schema, which the API reads itself; a tool that takes nothing has none', () => {
    const named = { name: 'f', description: 'd' };
    expect(toGeminiFunctions([{ ...named, parameters }])).toEqual([{ ...named, parametersJsonSchema: parameters }]);
    expect(toGeminiFunctions([{ ...named, parameters: { type: 'object', properties: {} } }])).toEqual([named]);
  });
});
