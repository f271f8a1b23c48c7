// What a broken or hostile server may write in one answer must not hold the daemon up.
import { describe, expect, test } from 'vitest';
import { repetitionStart } from '../../lib/repetition.ts';
import { cpuMs } from '../../testing/cpu-time.ts';
import { AnswerAssembly } from './answer-assembly.ts';
import { AnthropicAssembly } from './anthropic-answer.ts';
import { ResponsesAssembly } from './openai-responses-answer.ts';
import { createThinkSplitter } from './think-tags.ts';
import { createToolCallAssembly } from './tool-call-assembly.ts';

function took(run: () => void): number {
  const start = cpuMs();
  run();
  return cpuMs() - start;
}

describe('work grows with the answer and not with its square', () => {
  test('for blank lines before a repetition', () => {
    const text = '\n'.repeat(60_000) + 'the same sentence again and again. '.repeat(20);
    expect(took(() => expect(repetitionStart(text)).toBeDefined())).toBeLessThan(2_000);
  });

  test('for blanks at the beginning, which are text after a thousand of them', () => {
    const splitter = createThinkSplitter();
    let text = '';
    const spent = took(() => {
      for (let n = 0; n < 10_000; n += 1) text += splitter.push(' '.repeat(100)).text;
    });
    expect([text.length, spent < 2_000]).toEqual([1_000_000, true]);
  });

  test('for objects inside the arguments of a call, and two calls without ids stay two', () => {
    const tools = createToolCallAssembly();
    const row = ['{"', 'name":"some words of a row","of":{}', '}', ','];
    const spent = took(() => {
      tools.add({ name: 'f', arguments: '{"rows":[' });
      for (let n = 0; n < 6_000; n += 1) for (const piece of row) tools.add({ arguments: piece });
      for (let n = 0; n < 6_000; n += 1) tools.add({ arguments: '{}' });
    });
    expect([tools.size, spent < 2_000]).toEqual([1, true]);
    const two = createToolCallAssembly();
    for (const piece of ['{"a":{"b":1', '}}\n', '{"a":', '{}}', '{}']) two.add({ name: 'f', arguments: piece });
    expect(two.finish()?.map((call) => call.arguments)).toEqual(['{"a":{"b":1}}\n', '{"a":{}}', '{}']);
  });

  test('for blocks of an answer that ends again and again, and for items that the final list repeats', () => {
    const options = { provider: 'p', model: 'm', inputTokens: 1 };
    const spent = took(() => {
      const anthropic = new AnthropicAssembly(options);
      const content_block = { type: 'thinking', thinking: 'x' };
      for (let index = 0; index < 20_000; index += 1) anthropic.add({ type: 'content_block_start', index, content_block });
      for (let n = 0; n < 20_000; n += 1) anthropic.add({ type: 'message_delta', delta: { stop_reason: 'end_turn' } });
      const responses = new ResponsesAssembly(options);
      const output = Array.from({ length: 60_000 }, (_, n) => ({ type: 'reasoning', id: `rs_${n}`, summary: [] }));
      for (const [output_index, item] of output.entries())
        responses.add({ type: 'response.output_item.done', output_index, item });
      responses.add({ type: 'response.completed', response: { status: 'completed', output } });
    });
    expect(spent).toBeLessThan(3_000);
  });

  test('for a repetition in a code fence that never ends', () => {
    const assembly = new AnswerAssembly({ provider: 'p', model: 'm', inputTokens: 1 });
    const spent = took(() => {
      assembly.add({ text: `\`\`\`\n${'let x;\n'.repeat(150_000)}` });
      for (let n = 0; n < 20_000; n += 1) assembly.add({ text: 'INSERT INTO t VALUES (1, 2);\n' });
    });
    expect([assembly.looping, spent < 4_000]).toEqual([false, true]);
  });
});
