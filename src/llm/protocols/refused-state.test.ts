// A provider that does not take back what it gave: the conversation goes on without it.
import { describe, expect, test } from 'vitest';
import type { SessionMessage } from '../../core/session.ts';
import { errorReply, startModelServer, stream } from '../../testing/model-server.ts';
import { collect, modelRequest } from '../contract.ts';
import { createAnthropic } from './anthropic.ts';
import { anthropicBlock, anthropicEnd, anthropicStart, anthropicText } from './anthropic-contract.ts';
import { createOpenAiResponses } from './openai-responses.ts';
import { answerOf, wireOptions } from './wire-contract.ts';

const line = (id: string, role: SessionMessage['role'], content: string, more: Partial<SessionMessage> = {}) =>
  ({ id, role, content, timestamp: 't', ...more }) as const;
const REASONING = { type: 'reasoning', id: 'rs_old', summary: [], encrypted_content: 'gAAA' };
const MESSAGE = { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'so' }] };
const itemsOf = (provider: string, model: string, ...items: object[]) => ({
  provider_state: { provider, model, data: { items: items as never } },
});
const FOUND = stream(
  [
    { type: 'response.output_item.done', output_index: 0, item: MESSAGE },
    { type: 'response.completed', response: { object: 'response', status: 'completed', output: [] } },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`),
);

describe('reasoning that is refused', () => {
  const history = [line('u', 'user', 'hi'), line('a', 'assistant', 'so', itemsOf('azure', 'mine', REASONING, MESSAGE))];
  const ask = (...more: SessionMessage[]) => modelRequest('hi', { messages: [...history, line('v', 'user', 'and?'), ...more] });
  const REFUSALS = [
    [400, { message: 'The encrypted content could not be verified.', code: null }],
    [404, { message: "Item with id 'rs_old' not found. Items are not persisted when `store` is set to false." }],
    [400, { message: "Item 'rs_old' of type 'reasoning' was provided without its required following item." }],
  ] as const;

  test.each(REFUSALS)('with status %i is left out, and out of every later call too', async (status, error) => {
    await using server = await startModelServer({
      script: ({ body }) => (JSON.stringify(body).includes('rs_old') ? errorReply(status, error) : FOUND),
    });
    const model = createOpenAiResponses(wireOptions(`${server.url}/v1`, { provider: 'azure', model: 'mine' }));
    for (const request of [ask(), ask(line('b', 'assistant', 'so'), line('w', 'user', 'more'))])
      expect(answerOf(await collect(model.call(request, new AbortController().signal))).text).toBe('so');
    expect(server.requests).toHaveLength(3);
  });
});

test('thinking that follows a refused one is kept as said after what was really sent', async () => {
  const thinking = { type: 'thinking', thinking: '', signature: '' };
  const think = (signature: string) => anthropicBlock(0, thinking, { type: 'signature_delta', signature });
  await using server = await startModelServer({
    script: ({ body }) =>
      JSON.stringify(body).includes('"old"')
        ? errorReply(400, { message: 'messages.1.content.0: Invalid `signature` in `thinking` block' })
        : stream([anthropicStart(), think('new'), anthropicText('done', 1), anthropicEnd()]),
  });
  const made = { provider: 'anthropic', model: 'claude-opus-5-5' };
  const model = createAnthropic(wireOptions(server.url, made));
  const before = line('u', 'user', 'go');
  const first = answerOf(await collect(model.call(modelRequest('', { messages: [before] }), new AbortController().signal)));
  const state = JSON.parse(JSON.stringify(first.providerState).replace('"new"', '"old"')) as typeof first.providerState;
  const called = { tool_calls: [{ id: 'ours', name: 'f', arguments: '{}', provider_ids: ['toolu_1'] }] };
  const parts = [{ whole: { ...thinking, signature: 'old' } }, { call: 'toolu_1' }];
  const history = [
    before,
    line('a', 'assistant', '', {
      ...called,
      provider_state: { ...made, data: { ...(state?.data as object), parts } },
    }),
    line('t', 'tool', 'ok', { tool_call_id: 'ours' }),
  ];
  const second = answerOf(await collect(model.call(modelRequest('', { messages: history }), new AbortController().signal)));
  const kept = second.providerState ? { provider_state: second.providerState } : {};
  const third = [...history, line('b', 'assistant', 'done', kept), line('v', 'user', 'next')];
  await collect(model.call(modelRequest('', { messages: third }), new AbortController().signal));
  expect(server.requests).toHaveLength(4);
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('"new"');
});
