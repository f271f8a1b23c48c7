import { describe, expect, test } from 'vitest';
import type { ModelEvent } from '../../core/model.ts';
import type { SessionMessage } from '../../core/session.ts';
import { errorReply, startModelServer, stream } from '../../testing/model-server.ts';
import { collect, modelRequest, streamedText } from '../contract.ts';
import { toHistory } from './history.ts';
import { createOpenAiResponses } from './openai-responses.ts';
import { ResponsesAssembly } from './openai-responses-answer.ts';
import { toInputItems } from './openai-responses-input.ts';
import { wireOptions } from './wire-contract.ts';

const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
const CALLS = ['a', 'b'].map((n) => ({ type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name: 'f', arguments: '{}' }));
const MESSAGE = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'so' }],
  phase: 'commentary',
};
const ITEMS = [REASONING, MESSAGE, ...CALLS];
const DONE = { type: 'response.completed', response: { object: 'response', status: 'completed', model: 'm', output: [] } };
const itemEvents = (items: readonly object[]) =>
  items.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item }));

function assemble(...events: object[]): readonly ModelEvent[] {
  const assembly = new ResponsesAssembly({ provider: 'openai', model: 'm', inputTokens: 1 });
  return [...events.flatMap((event) => assembly.add(event).events), ...assembly.end()];
}
function answerOf(events: readonly ModelEvent[]) {
  const last = events.at(-1);
  if (last?.type !== 'done') throw new Error(JSON.stringify(last));
  return last.answer;
}

const lines = (override: Partial<SessionMessage> = {}): SessionMessage[] => [
  { id: 'u', role: 'user', content: 'hi', timestamp: 't' },
  {
    ...{ id: 'a', role: 'assistant', content: 'so', timestamp: 't' },
    tool_calls: [{ id: 'ours', name: 'f', arguments: '{}', provider_ids: ['call_a', 'call_b'] }],
    provider_state: { provider: 'openai', model: 'm', data: { items: ITEMS } },
    ...override,
  },
  { id: 't', role: 'tool', content: 'result', tool_call_id: 'ours', timestamp: 't' },
];
const input = (messages: readonly SessionMessage[], model = 'm') =>
  toInputItems(toHistory({ messages }, { provider: 'openai', model, vision: true }).steps);

describe('M6 reasoning items of the Responses wire', () => {
  test('are kept as they came, and are no state where the model did not reason', () => {
    expect(answerOf(assemble(...itemEvents(ITEMS), DONE)).providerState).toEqual({
      ...{ provider: 'openai', model: 'm' },
      data: { items: ITEMS },
    });
    expect(answerOf(assemble(...itemEvents([MESSAGE]), DONE)).providerState).toBeUndefined();
  });

  test('are not kept when they are nested beyond what can be written down: the answer is', () => {
    const deep = JSON.parse(`{"type":"reasoning","summary":[],"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`) as object;
    const answer = answerOf(assemble(...itemEvents([deep, MESSAGE]), DONE));
    expect(answer.text).toBe('so');
    expect(JSON.stringify(answer)).not.toContain('providerState');
  });

  test('that Azure encrypts only in the final list are taken from there', () => {
    const bare = { type: 'reasoning', id: 'rs_1', summary: [] };
    const completed = { ...DONE, response: { ...DONE.response, output: [REASONING, MESSAGE] } };
    expect(answerOf(assemble(...itemEvents([bare, MESSAGE]), completed)).providerState?.data).toEqual({
      items: [REASONING, MESSAGE],
    });
  });

  test('go back to the same model in order, with a result for every call among them, also one that ran once for two', () => {
    const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'result' });
    expect(input(lines())).toEqual([{ role: 'user', content: 'hi' }, ...ITEMS, output('call_a'), output('call_b')]);
  });

  test('go back too where the server tells the reasoning in words (gpt-oss, Grok)', () => {
    const worded = { ...REASONING, content: [{ type: 'reasoning_text', text: 'let me see' }] };
    const items = [worded, MESSAGE, ...CALLS];
    const [, first] = input(lines({ provider_state: { provider: 'openai', model: 'm', data: { items } } }));
    expect(first).toEqual(worded);
  });

  test('stay away from another model, and from a line that no longer says what they say', () => {
    const plain = (messages: readonly SessionMessage[], model?: string) =>
      JSON.stringify(input(messages, model)).includes('rs_1');
    expect(plain(lines())).toBe(true);
    expect(plain(lines(), 'other')).toBe(false);
    expect(plain(lines({ content: 'edited' }))).toBe(false);
    expect(plain(lines({ tool_calls: [{ id: 'ours', name: 'f', arguments: '{}', provider_ids: ['call_a'] }] }))).toBe(false);
  });

  test('that the provider cannot decrypt are left out, and the call is sent once more', async () => {
    const refusal = {
      message: 'The encrypted content gAAA...== could not be verified.',
      param: null,
      code: 'invalid_encrypted_content',
    };
    await using server = await startModelServer({
      script: ({ body }) =>
        JSON.stringify(body).includes('rs_1')
          ? errorReply(400, refusal)
          : stream([...itemEvents([MESSAGE]), DONE].map((event) => `data: ${JSON.stringify(event)}\n\n`)),
    });
    const model = createOpenAiResponses(wireOptions(`${server.url}/v1`, { provider: 'openai', model: 'm' }));
    const events = await collect(model.call({ ...modelRequest('hi'), messages: lines() }, new AbortController().signal));
    expect(answerOf(events).text).toBe('so');
    expect(server.requests).toHaveLength(2);
  });

  test('are no state where they can neither be read nor decrypted: a server that keeps nothing would look for them', () => {
    const bare = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null };
    expect(answerOf(assemble(...itemEvents([bare, MESSAGE]), DONE)).providerState).toBeUndefined();
  });

  test('stay away with a call whose name no request may bear', () => {
    const items = [REASONING, MESSAGE, ...CALLS.map((call) => ({ ...call, name: 'multi_tool_use.parallel' }))];
    const calls = [{ id: 'ours', name: 'multi_tool_use.parallel', arguments: '{}', provider_ids: ['call_a', 'call_b'] }];
    const sent = input(lines({ tool_calls: calls, provider_state: { provider: 'openai', model: 'm', data: { items } } }));
    expect(JSON.stringify(sent)).not.toContain('multi_tool_use.parallel');
  });

  test('M13 text is not doubled when the final list leaves an item out', () => {
    const delta = { type: 'response.output_text.delta', output_index: 1, delta: 'so' };
    const completed = { ...DONE, response: { ...DONE.response, output: [MESSAGE] } };
    expect(streamedText(assemble(...itemEvents([REASONING]), delta, completed))).toBe('so');
  });
});
