import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelEvent, ModelRequest } from '../../core/model.ts';
import type { SessionMessage } from '../../core/session.ts';
import { type Aimock, startAimock } from '../../testing/aimock.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import { collect, modelRequest, streamedText } from '../contract.ts';
import { createOpenAiChat } from './openai-chat.ts';

const fixtures = [
  {
    match: { userMessage: 'plain' },
    response: { content: 'A plain answer.', usage: { prompt_tokens: 11, completion_tokens: 5 } },
  },
  { match: { userMessage: 'long' }, response: { content: `${'word '.repeat(40)}end` }, latency: 2 },
  { match: { userMessage: 'think' }, response: { content: 'Four.', reasoning: 'two and two' } },
  {
    match: { userMessage: 'plan', hasToolResult: false },
    response: { content: 'Let me look.', toolCalls: [{ name: 'weather', id: 'call_w1', arguments: { city: 'Oslo' } }] },
  },
  {
    match: { toolCallId: 'call_w1' },
    response: { toolCalls: [{ name: 'weather', id: 'call_w2', arguments: { city: 'Bergen' } }] },
  },
  { match: { toolCallId: 'call_w2' }, response: { content: 'Both are fine.' } },
  {
    match: { userMessage: 'parallel' },
    response: { toolCalls: ['a', 'b', 'c'].map((id) => ({ name: 'weather', id: `call_${id}`, arguments: { city: id } })) },
  },
  {
    match: { userMessage: 'broken arguments' },
    response: { toolCalls: [{ name: 'weather', id: 'call_x', arguments: '{"city": "Os' }] },
  },
  { match: { userMessage: 'empty' }, response: { content: '' } },
  {
    match: { userMessage: 'e400' },
    response: {
      error: { message: "This model's maximum context length is 8192 tokens", code: 'context_length_exceeded' },
      status: 400,
    },
  },
  {
    match: { userMessage: 'e401' },
    response: { error: { message: 'Incorrect API key', type: 'invalid_request_error' }, status: 401 },
  },
  { match: { userMessage: 'e429' }, response: { error: { message: 'Rate limit' }, status: 429, retryAfter: 3 } },
  { match: { userMessage: 'e500' }, response: { error: { message: 'oops' }, status: 500 } },
  { match: { userMessage: 'e529' }, response: { error: { message: 'overloaded' }, status: 529 } },
  {
    match: { userMessage: 'cut' },
    response: { content: 'a long answer that is cut off in the middle of it all' },
    truncateAfterChunks: 3,
    latency: 15,
  },
  { match: { userMessage: 'slow' }, response: { content: 'late' }, streamingProfile: { ttft: 3_000, tps: 10 } },
];

let aimock: Aimock;
beforeAll(async () => {
  aimock = await startAimock({ fixtures });
});
afterAll(() => aimock.stop());

function model(url = aimock.url, firstTokenMs = 5_000, name = 'gpt-4o') {
  return createOpenAiChat({
    provider: 'aimock',
    model: name,
    baseUrl: `${url}/v1`,
    apiKey: 'sk-test-key-for-aimock',
    contextWindow: 8_000,
    timeouts: { connectMs: 1_000, totalMs: 5_000, firstTokenMs: () => firstTokenMs },
    clock: new SteadyClock(),
  });
}

const ask = (request: ModelRequest, url?: string): Promise<ModelEvent[]> =>
  collect(model(url).call(request, new AbortController().signal));

function answerOf(events: readonly ModelEvent[]) {
  const last = events.at(-1);
  if (last?.type !== 'done') throw new Error(`expected an answer, got ${JSON.stringify(last)}`);
  return last.answer;
}

describe('against an emulator we did not write', () => {
  test('text arrives with the provider-reported usage', async () => {
    const answer = answerOf(await ask(modelRequest('plain')));
    expect(answer).toMatchObject({
      text: 'A plain answer.',
      stop: 'end',
      usage: { tokensIn: 11, tokensOut: 5 },
      model: 'gpt-4o',
    });
  });

  test('a long answer streams in several pieces that make up the answer', async () => {
    const events = await ask(modelRequest('long'));
    expect(events.filter((event) => event.type === 'text').length).toBeGreaterThan(5);
    expect(streamedText(events)).toBe(answerOf(events).text);
  });

  test('reasoning is kept apart from the text', async () => {
    // Strict mode gives reasoning to models of that kind only.
    const events = await collect(
      model(aimock.url, 5_000, 'deepseek-reasoner').call(modelRequest('think'), new AbortController().signal),
    );
    expect(answerOf(events)).toMatchObject({ text: 'Four.', reasoning: 'two and two' });
  });

  test('a tool loop of three legs keeps ids and arguments', async () => {
    let request = modelRequest('plan my day');
    const cities: string[] = [];
    for (let leg = 0; leg < 2; leg += 1) {
      const answer = answerOf(await ask(request));
      expect(answer.stop).toBe('tools');
      const call = answer.toolCalls[0];
      if (!call) throw new Error('no tool call');
      cities.push(call.arguments);
      const timestamp = '2026-01-01T00:00:00Z';
      const lines: SessionMessage[] = [
        { id: `a${leg}`, role: 'assistant', content: answer.text, tool_calls: answer.toolCalls, timestamp },
        { id: `t${leg}`, role: 'tool', content: 'sunny', tool_call_id: call.id, timestamp },
      ];
      request = { ...request, messages: [...request.messages, ...lines] };
    }
    expect(cities).toEqual(['{"city":"Oslo"}', '{"city":"Bergen"}']);
    expect(answerOf(await ask(request)).text).toBe('Both are fine.');
  });

  test('three parallel tool calls stay three', async () => {
    const { toolCalls } = answerOf(await ask(modelRequest('parallel')));
    expect(toolCalls.map((call) => [call.id, call.arguments])).toEqual([
      ['call_a', '{"city":"a"}'],
      ['call_b', '{"city":"b"}'],
      ['call_c', '{"city":"c"}'],
    ]);
  });

  test('F28 arguments that are not JSON are passed on as the model wrote them', async () => {
    expect(answerOf(await ask(modelRequest('broken arguments'))).toolCalls[0]?.arguments).toBe('{"city": "Os');
  });

  test.each([
    ['e400', { kind: 'context-length', code: 'GH2107', status: 400 }],
    ['e401', { kind: 'auth', code: 'GH2101', status: 401 }],
    ['e429', { kind: 'rate-limit', code: 'GH2102', retryAfterMs: 3_000 }],
    ['e500', { kind: 'server', code: 'GH2103' }],
    ['e529', { kind: 'overloaded', code: 'GH2103' }],
    ['empty', { kind: 'empty', code: 'GH2108' }],
  ])('F24 F26 F29 %s is %o', async (text, failure) => {
    expect((await ask(modelRequest(text))).at(-1)).toMatchObject({ type: 'failed', failure });
  });

  test('F28 a stream that is cut off keeps its text and fails as malformed', async () => {
    const events = await ask(modelRequest('cut'));
    expect(streamedText(events)).not.toBe('');
    expect(events.at(-1)).toMatchObject({ type: 'failed', failure: { kind: 'malformed', retryable: true } });
  });

  test('a slow first token is a timeout', async () => {
    const events = await collect(model(aimock.url, 150).call(modelRequest('slow'), new AbortController().signal));
    expect(events.at(-1)).toMatchObject({ type: 'failed', failure: { kind: 'timeout', code: 'GH2105' } });
  });

  test('the emulator runs in a process of its own just as well', async () => {
    await using own = await startAimock({ fixtures, ownProcess: true });
    expect(answerOf(await ask(modelRequest('plain'), own.url)).text).toBe('A plain answer.');
    await own.nextError(503);
    expect((await ask(modelRequest('plain'), own.url)).at(-1)).toMatchObject({ failure: { kind: 'overloaded' } });
    expect((await own.journal()).map((entry) => entry.response.status)).toEqual([200, 503]);
  });
});
