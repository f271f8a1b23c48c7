import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../testing/cpu-time.ts';
import { streamedText } from '../contract.ts';
import { ChatAssembly } from './openai-chat-answer.ts';
import { createThinkSplitter } from './think-tags.ts';

const delta = (value: object, finish: string | null = null): unknown => ({
  choices: [{ index: 0, delta: value, finish_reason: finish }],
});

function assemble(...chunks: unknown[]) {
  const assembly = new ChatAssembly({ provider: 'p', model: 'm', inputTokens: 12 });
  const events = [...chunks.flatMap((chunk) => assembly.add(chunk).events), ...assembly.end()];
  const last = events.at(-1);
  return {
    events,
    text: streamedText(events),
    answer: last?.type === 'done' ? last.answer : undefined,
    failure: last?.type === 'failed' ? last.failure : undefined,
  };
}

describe('F28 tool calls', () => {
  const call = (value: object) => delta({ tool_calls: [value] });
  const end = delta({}, 'tool_calls');
  const calls = (...chunks: unknown[]) => assemble(...chunks, end).answer?.toolCalls.map((item) => [item.name, item.arguments]);

  test('pieces are joined by index, interleaved or not', () => {
    expect(
      calls(
        call({ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }),
        call({ index: 1, id: 'b', function: { name: 'g', arguments: '[' } }),
        call({ index: 0, function: { arguments: '}' } }),
        call({ index: 1, function: { arguments: ']' } }),
      ),
    ).toEqual([
      ['f', '{}'],
      ['g', '[]'],
    ]);
  });

  test('an endless list of calls is broken off, in one chunk or in many, before it holds up the daemon', () => {
    const endless = Array.from({ length: 25_000 }, (_, index) => ({ index, id: `c${index}`, function: { name: 'f' } }));
    const from = cpuMs();
    expect(() => assemble(delta({ tool_calls: endless }))).toThrow('more than 1000 tool calls');
    expect(() => assemble(...endless.map(call))).toThrow('more than 1000 tool calls');
    expect(cpuMs() - from).toBeLessThan(1_000);
    expect(calls(...endless.slice(0, 1_000).map(call))).toHaveLength(1_000);
  });

  test('a server that omits the index or gives every call index 0 still makes two calls', () => {
    for (const index of [{}, { index: 0 }]) {
      expect(
        calls(
          call({ ...index, id: 'a', function: { name: 'f', arguments: '{}' } }),
          call({ ...index, id: 'b', function: { name: 'g', arguments: '{}' } }),
        ),
      ).toEqual([
        ['f', '{}'],
        ['g', '{}'],
      ]);
    }
  });

  test.each([
    [
      'with the same index and name',
      { index: 0, function: { name: 'f', arguments: '{"c":"A"}' } },
      { index: 0, function: { name: 'f', arguments: '{"c":"B"}' } },
    ],
    [
      'without index and id',
      { id: '', function: { name: 'f', arguments: '{"c":"A"}' } },
      { id: '', function: { name: 'f', arguments: '{"c":"B"}' } },
    ],
    [
      'with the same id',
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"c":"A"}' } },
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"c":"B"}' } },
    ],
    [
      'without a name of its own',
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"c":"A"}' } },
      { index: 0, function: { arguments: '{"c":"B"}' } },
    ],
  ])('M10 a second object behind a whole one is a second call: %s', (_, first, second) => {
    expect(calls(call(first), call(second))).toEqual([
      ['f', '{"c":"A"}'],
      ['f', '{"c":"B"}'],
    ]);
  });

  test('id and name repeated in every piece make one call', () => {
    const piece = (text: string) => call({ index: 0, id: 'a', function: { name: 'f', arguments: text } });
    expect(calls(piece('{"x"'), piece(':1}'))).toEqual([['f', '{"x":1}']]);
  });

  test('missing and duplicate ids are replaced by ones of their own', () => {
    const { answer } = assemble(
      call({ index: 0, id: 'same', function: { name: 'f', arguments: '{}' } }),
      call({ index: 1, id: 'same', function: { name: 'f', arguments: '{}' } }),
      call({ index: 2, function: { name: 'f', arguments: '{}' } }),
      end,
    );
    const ids = answer?.toolCalls.map((item) => item.id) ?? [];
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain('');
    expect(ids[0]).toBe('same');
  });

  test('a call without a name is malformed, so that no tool runs', () => {
    expect(assemble(call({ index: 0, id: 'a', function: { arguments: '{}' } }), end).failure?.kind).toBe('malformed');
  });

  test('calls make the stop reason `tools` whatever the server says', () => {
    const one = call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } });
    for (const finish of ['stop', 'length', 'tool_calls']) expect(assemble(one, delta({}, finish)).answer?.stop).toBe('tools');
  });
});

describe('text and reasoning', () => {
  test('think tags at the beginning become reasoning however they are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 40, maxLength: 40 }), (sizes) => {
        const whole = '\n<think>one < two</think>\n\n<think>and three</think>\nAnswer with <think> in it.';
        const splitter = createThinkSplitter();
        let text = '';
        let reasoning = '';
        let at = 0;
        for (const size of [...sizes, whole.length]) {
          const part = splitter.push(whole.slice(at, at + size));
          at += size;
          text += part.text;
          reasoning += part.reasoning;
        }
        const rest = splitter.flush();
        expect(text + rest.text).toBe('Answer with <think> in it.');
        expect(reasoning + rest.reasoning).toBe('one < twoand three');
      }),
    );
  });

  test('a closing tag without an opening one takes back what was streamed before it', () => {
    const { answer, text, events } = assemble(delta({ content: 'let me see\n</think>\n\nFour.' }), delta({}, 'stop'));
    expect(answer).toMatchObject({ text: 'Four.', reasoning: 'let me see' });
    expect(text).toBe('Four.');
    expect(events.map((event) => event.type)).toContain('restart');
  });

  test('reasoning fields of both names and parts of content are understood', () => {
    const { answer } = assemble(
      delta({ reasoning_content: 'a' }),
      delta({ reasoning: 'b' }),
      delta({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'c' }] },
          { type: 'text', text: 'out' },
        ],
      }),
      delta({}, 'stop'),
    );
    expect(answer).toMatchObject({ reasoning: 'abc', text: 'out' });
  });

  test('length and estimated usage are reported when nothing else is known', () => {
    const { answer } = assemble(delta({ content: '12345678' }), delta({}, 'length'));
    expect(answer).toMatchObject({ stop: 'length', usage: { tokensIn: 12, tokensOut: 2, tokensCached: 0 } });
  });

  test.each([-1, 1.5, 1e300, '7', null])('F28 a count of %j tokens is no count: it is estimated', (prompt_tokens) => {
    const usage = { choices: [], usage: { prompt_tokens, completion_tokens: 3 } };
    const { answer } = assemble(delta({ content: '12345678' }), delta({}, 'stop'), usage);
    expect(answer?.usage).toEqual({ tokensIn: 12, tokensOut: 2, tokensCached: 0 });
  });

  test('an answer of no tokens by the count of its server is estimated, its input is not', () => {
    const usage = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 0 } };
    const { answer } = assemble(delta({ content: '12345678' }), delta({}, 'stop'), usage);
    expect(answer?.usage).toEqual({ tokensIn: 7, tokensOut: 2, tokensCached: 0 });
  });

  test('what the model wrote is estimated whole: a repetition and a call are billed like the rest', () => {
    const sentence = 'this is the same sentence again. ';
    const { answer: looping } = assemble(...Array.from({ length: 40 }, () => delta({ content: sentence })));
    expect(looping?.text).toBe(`${sentence}[… the model repeated itself; the rest was cut]`);
    expect(looping?.usage.tokensOut).toBe((40 * sentence.length) / 4);
    const call = { index: 0, id: 'a', function: { name: 'save', arguments: JSON.stringify({ text: 'x'.repeat(400) }) } };
    expect(assemble(delta({ tool_calls: [call] }), delta({}, 'tool_calls')).answer?.usage.tokensOut).toBeGreaterThan(100);
  });

  test('any JSON value in place of a chunk never throws', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (chunks) => {
        expect(assemble(...chunks, delta({ content: 'x' }), delta({}, 'stop')).events.length).toBeGreaterThan(0);
      }),
    );
  });
});
