/** The OpenAI chat wire against an emulator by another author: the two need not share a misreading. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runAgent } from '../../agent/run.ts';
import type { ModelEvent, ModelRequest } from '../../core/model.ts';
import { agentRun, countingTool, line } from '../../testing/agent-run.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { type MockLlm, type MockLlmRule, startMockLlm } from '../../testing/mock-llm.ts';
import { collect, modelRequest, streamedText } from '../contract.ts';
import { type RetryInfo, withRetry } from '../retry.ts';
import { createOpenAiChat } from './openai-chat.ts';
import type { WireOptions } from './wire.ts';
import { answerOf, failureOf, wireOptions } from './wire-contract.ts';

const PATH = '/v1/chat/completions';
const TEXT = 'Grüße aus Oslo, 14 °C und „sonnig“ 👋🏽.';
const CALL = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } };

const asked = (text: string): string => `body.messages[-1].role == 'user' && contains(body.messages[-1].content, '${text}')`;
const answer = (message: object, finish = 'stop', rest: object = {}): MockLlmRule['response'] => {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }];
  const content = {
    id: 'chatcmpl-{{timestamp}}',
    object: 'chat.completion',
    model: '{{jmes request body.model}}',
    choices,
    ...rest,
  };
  return { status: 200, content: JSON.stringify(content) };
};
const error = (status: number, type: string, message: string, code: string | null = null): MockLlmRule['response'] => ({
  status,
  content: JSON.stringify({ error: { message, type, param: null, code } }),
});
const USAGE = { usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } };

const RULES: readonly MockLlmRule[] = [
  { path: PATH, match: asked('say'), response: answer({ content: TEXT }, 'stop', USAGE) },
  { path: PATH, match: asked('who am I'), response: answer({ content: '{{jmes request headers.authorization}}' }) },
  { path: PATH, match: asked('weather'), response: answer({ content: null, tool_calls: [CALL] }, 'tool_calls', USAGE) },
  {
    path: PATH,
    match: "body.messages[-1].role == 'tool' && body.messages[-1].tool_call_id == body.messages[-2].tool_calls[0].id",
    response: answer({
      content: '{{jmes request body.messages[-2].tool_calls[0].function.name}}: {{jmes request body.messages[-1].content}}',
    }),
  },
  { path: PATH, match: asked('e401'), response: error(401, 'invalid_request_error', 'Incorrect API key.', 'invalid_api_key') },
  { path: PATH, match: asked('e400'), response: error(400, 'invalid_request_error', 'no such field') },
  { path: PATH, match: asked('e500'), response: error(500, 'server_error', 'The server had an error') },
  { path: PATH, match: asked('e429'), response: error(429, 'rate_limit_error', 'Rate limit reached. Please try again in 2s.') },
  { path: PATH, match: asked('limited'), response: answer({ content: 'now' }) },
  {
    path: PATH,
    match: asked('limited'),
    sequence: 0,
    response: error(429, 'tokens', 'Please try again in 2s.', 'rate_limit_exceeded'),
  },
  { path: PATH, match: asked('limited'), sequence: 1, response: error(500, 'server_error', 'The server had an error') },
];

let server: MockLlm;
beforeAll(async () => {
  server = await startMockLlm({ rules: RULES });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** Takes the wish for a stream out on the way: this server has calls and statuses in whole answers only. */
const whole: typeof fetch = (input, init) =>
  fetch(input, { ...init, body: JSON.stringify({ ...(JSON.parse(String(init?.body)) as object), stream: false }) });

const create = (override: Partial<WireOptions> = {}) => createOpenAiChat(wireOptions(`${server.url}/v1`, override));
const call = async (request: ModelRequest, override: Partial<WireOptions> = {}): Promise<readonly ModelEvent[]> =>
  await collect(create(override).call(request, new AbortController().signal));
const ask = (text: string, override: Partial<WireOptions> = {}) => call(modelRequest(text), override);

test('a streamed answer arrives in pieces that make up its text, and is counted where the server does not', async () => {
  const events = await ask('say');
  expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(5);
  expect(streamedText(events)).toBe(TEXT);
  expect(answerOf(events)).toMatchObject({ text: TEXT, stop: 'end', toolCalls: [], usage: { tokensCached: 0 } });
  expect(answerOf(events).usage.tokensOut).toBeGreaterThan(0);
});

test('a whole answer in place of a stream is the same answer, with the usage the server reports', async () => {
  expect(answerOf(await ask('say', { fetch: whole }))).toMatchObject({
    text: TEXT,
    stop: 'end',
    usage: { tokensIn: 9, tokensOut: 4, tokensCached: 0 },
  });
});

test('A29 the server is told the key as a bearer token, and an answer that speaks it is corrected', async () => {
  const sent: (string | null)[] = [];
  const watched: typeof fetch = (input, init) => {
    sent.push(new Headers(init?.headers).get('authorization'));
    return fetch(input, init);
  };
  const events = await ask('who am I', { fetch: watched });
  expect(sent).toEqual(['Bearer sk-canary-7f3a9c51d2e8b604']);
  expect(answerOf(events).text).toBe('Bearer [redacted]');
  expect(streamedText(events)).toBe('Bearer [redacted]');
});

test('the agent runs the tool that is called, and the server finds the call and its result in the next request', async () => {
  const weather = countingTool({
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    run: async () => ({ ok: true, output: 'sunny' }),
  });
  const result = await runAgent(agentRun({ input: line('user', 'weather?'), model: create({ fetch: whole }), tools: [weather] }));
  expect(result).toMatchObject({ outcome: { kind: 'answered', text: 'weather: sunny' }, iterations: 2 });
  expect(weather.contexts).toHaveLength(1);
});

test.each([
  ['e401', { kind: 'auth', code: 'GH2101', retryable: false }],
  ['e400', { kind: 'bad-request', code: 'GH2106', retryable: false }],
  ['e500', { kind: 'server', code: 'GH2103', retryable: true }],
  ['e429', { kind: 'rate-limit', code: 'GH2102', retryable: true, retryAfterMs: 3_000 }],
] as const)('%s is the same failure as a status and as an event of a stream with status 200', async (text, failure) => {
  expect(failureOf(await ask(text, { fetch: whole }))).toMatchObject({ ...failure, status: Number(text.slice(1)) });
  expect(failureOf(await ask(text))).toMatchObject(failure);
});

test('a path or a text that the server has no rule for is a 404 with an error that is a word', async () => {
  expect(failureOf(await ask('nothing fits'))).toMatchObject({ kind: 'bad-request', status: 404, retryable: false });
});

test('a call that the server breaks over is a failure with its status, although the type says event stream', async () => {
  // It cannot stream a message without content, and notices after it has set the type.
  expect(failureOf(await ask('weather?'))).toMatchObject({ kind: 'server', status: 500, retryable: true });
});

test('a body above the limit of the server is a request too long for it', async () => {
  expect(failureOf(await ask(`say ${'x'.repeat(150_000)}`))).toMatchObject({ kind: 'context-length', status: 413 });
});

test('a 429 and then a 500 are waited out as they say, and the third request is answered', async () => {
  const clock = new FakeClock();
  const waits: RetryInfo[] = [];
  const model = withRetry(create({ fetch: whole }), { clock, random: () => 0, onRetry: (info) => waits.push(info) });
  const events = collect(model.call(modelRequest('limited'), new AbortController().signal));
  const ticking = setInterval(() => void clock.advance(500), 5);
  try {
    expect(answerOf(await events).text).toBe('now');
  } finally {
    clearInterval(ticking);
  }
  expect(waits.map(({ failure, attempt, waitMs }) => [failure.kind, attempt, waitMs])).toEqual([
    ['rate-limit', 1, 3_000],
    ['server', 2, 1_000],
  ]);
});
