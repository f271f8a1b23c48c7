import { expect, test } from 'vitest';
import { type Reply, startModelServer, stream } from '../../testing/model-server.ts';
import { collect, modelRequest } from '../contract.ts';
import { createAnthropic } from './anthropic.ts';
import { anthropicBlock, anthropicEnd, anthropicEvent, anthropicStart, anthropicText } from './anthropic-contract.ts';
import { answerOf, failureOf, wireOptions } from './wire-contract.ts';

async function answer(...pieces: string[]) {
  const reply: Reply = stream(pieces);
  await using server = await startModelServer({ script: () => reply });
  const model = createAnthropic(wireOptions(server.url, { model: 'claude-opus-5-5' }));
  return await collect(model.call(modelRequest('hi'), new AbortController().signal));
}

test('M10 blocks of tools that run at Anthropic, and citations, leave text and calls alone', async () => {
  const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
  const events = await answer(
    anthropicStart(),
    anthropicBlock(0, search, { type: 'input_json_delta', partial_json: '{"q":1}' }),
    anthropicBlock(1, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
    anthropicBlock(
      2,
      { type: 'text', text: '' },
      { type: 'text_delta', text: 'found' },
      { type: 'citations_delta', citation: {} },
    ),
    anthropicEnd(),
  );
  expect(answerOf(events)).toMatchObject({ text: 'found', toolCalls: [] });
});

test('M5 a thought that begins after text has the limit for thinking, where no pings are promised', async () => {
  const start = anthropicEvent('content_block_start', { index: 1, content_block: { type: 'thinking', thinking: '' } });
  const reply = stream([anthropicStart(), anthropicText('a'), start], { end: 'hang' });
  await using server = await startModelServer({ script: () => reply });
  const timeouts = { connectMs: 1_000, totalMs: 5_000, idleMs: 120, thinkingMs: 400 };
  const model = createAnthropic(wireOptions(server.url, { provider: 'zai', model: 'glm-5.3', timeouts }));
  const events = await collect(model.call(modelRequest('hi'), new AbortController().signal));
  expect(failureOf(events).message).toContain('no next chunk within 400 ms');
});

test('nothing is kept of an answer without thinking', async () => {
  expect(answerOf(await answer(anthropicStart(), anthropicText('x'), anthropicEnd())).providerState).toBeUndefined();
});

test('the thinking in the usage and another model that answered are told; a date behind the name is none', async () => {
  const usage = { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } };
  expect(answerOf(await answer(anthropicStart(), anthropicText('x'), anthropicEnd('end_turn', usage)))).toMatchObject({
    usage: { tokensIn: 7, tokensOut: 9, tokensReasoning: 4 },
    servedModel: 'test',
  });
  const dated = anthropicStart().replace('"model":"test"', '"model":"claude-opus-5-5-20260901"');
  expect(answerOf(await answer(dated, anthropicText('x'), anthropicEnd())).servedModel).toBeUndefined();
});

test.each([
  ['pause_turn', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['stop_sequence', 'end'],
])('stop reason %s ends as %s', async (reason, stop) => {
  expect(answerOf(await answer(anthropicStart(), anthropicText('x'), anthropicEnd(reason))).stop).toBe(stop);
});

test('F29 a refusal names its category, is billed and not repeated; an unknown stop reason is no success', async () => {
  const delta = { stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'cyber' } };
  const refusal = anthropicEvent('message_delta', { delta, usage: { output_tokens: 5 } });
  const failure = failureOf(await answer(anthropicStart(), anthropicText('x'), refusal));
  expect(failure).toMatchObject({ kind: 'content-filter', retryable: false, usage: { tokensIn: 7, tokensOut: 5 } });
  expect(failure.message).toContain('cyber');
  const unknown = failureOf(await answer(anthropicStart(), anthropicText('x'), anthropicEnd('network_error')));
  expect(unknown).toMatchObject({ kind: 'malformed', retryable: true });
});

test('numbers of arguments that come whole with the start of a call stay as they were written', async () => {
  const args = '{"id":9007199254740993}';
  const block = anthropicBlock(0, { type: 'tool_use', id: 'c', name: 'probe', input: 'ARGS' }).replace('"ARGS"', args);
  const events = await answer(anthropicStart(), block, anthropicEnd('tool_use'));
  expect(answerOf(events).toolCalls).toEqual([{ id: 'c', name: 'probe', arguments: args }]);
});
