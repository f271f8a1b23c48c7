import { describe, expect, test } from 'vitest';
import type { ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import { startAimock } from '../../testing/aimock.ts';
import { until } from '../../testing/fakes.ts';
import {
  errorReply,
  jsonReply,
  type ModelServer,
  type Reply,
  startModelServer,
  stream,
  tenderCuts,
} from '../../testing/model-server.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import { collect, modelContract, modelRequest, streamedText } from '../contract.ts';
import { createOpenAiResponses } from './openai-responses.ts';
import { responsesCalls, responsesEnd, responsesEvent, responsesOpen, responsesText } from './openai-responses-contract.ts';
import type { WireOptions } from './wire.ts';

const KEY = 'sk-canary-7f3a9c51d2e8b604';

function responses(origin: string, override: Partial<WireOptions> = {}) {
  return createOpenAiResponses({
    provider: 'openai',
    model: 'gpt-5',
    baseUrl: `${origin}/v1`,
    apiKey: KEY,
    contextWindow: 8_000,
    timeouts: { connectMs: 1_000, totalMs: 5_000 },
    clock: new SteadyClock(),
    ...override,
  });
}

const plain = [responsesOpen, responsesText('ok'), responsesEnd()];
const timestamp = '2026-01-01T00:00:00Z';

async function run(
  reply: Reply = stream(plain),
  override: Partial<WireOptions> = {},
  request: ModelRequest = modelRequest('hi'),
): Promise<{ events: ModelEvent[]; requests: ModelServer['requests'] }> {
  await using server = await startModelServer({ script: () => reply });
  const events = await collect(responses(server.url, override).call(request, new AbortController().signal));
  if (reply.end === 'hang') await until('the server saw the connection end', () => server.requests.every(({ cut }) => cut));
  return { events, requests: server.requests };
}

function failureOf({ events }: { events: readonly ModelEvent[] }): ModelFailure {
  const last = events.at(-1);
  if (last?.type !== 'failed') throw new Error(`expected a failure, got ${JSON.stringify(last)}`);
  return last.failure;
}

modelContract('openai-responses', async () => {
  const aimock = await startAimock({
    fixtures: [
      { match: { userMessage: 'hello' }, response: { content: 'Hello there.' } },
      { match: { userMessage: 'slow' }, response: { content: 'word '.repeat(60) }, latency: 100 },
    ],
  });
  return {
    model: responses(aimock.url),
    answered: modelRequest('hello'),
    slow: modelRequest('slow'),
    [Symbol.asyncDispose]: () => aimock.stop(),
  };
});

describe('requests', () => {
  test('carry instructions, input, tools and limits, and keep nothing at the server', async () => {
    const parameters = { type: 'object', properties: { path: { type: 'string' } } };
    const request = modelRequest('hi', {
      tools: [{ name: 'read_file', description: 'Reads.', parameters }],
      maxOutputTokens: 50,
      temperature: 0.2,
    });
    const { requests } = await run(undefined, {}, request);
    expect(requests[0]?.path).toBe('/v1/responses');
    expect(requests[0]?.body).toEqual({
      model: 'gpt-5',
      instructions: 'You are terse.',
      input: [{ role: 'user', content: 'hi' }],
      stream: true,
      store: false,
      tools: [{ type: 'function', name: 'read_file', description: 'Reads.', parameters, strict: false }],
      max_output_tokens: 50,
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  test('give a temperature to models that take one, ask no summary of models that do not reason, respect the least limit', async () => {
    const request = modelRequest('hi', { temperature: 0.2, maxOutputTokens: 1 });
    const { requests } = await run(undefined, { model: 'gpt-4o' }, request);
    expect(requests[0]?.body).toMatchObject({ temperature: 0.2, max_output_tokens: 16 });
    expect(requests[0]?.body).not.toHaveProperty('reasoning');
  });

  test('keep call ids, place results after their calls, and hold no orphan', async () => {
    const { messages } = modelRequest('go');
    const call = (id: string, text = '{}') => ({ id, name: 'f', arguments: text });
    const request = modelRequest('go', {
      messages: [
        ...messages,
        { id: 't0', role: 'tool', content: 'orphan', tool_call_id: 'gone', timestamp },
        { id: 'a', role: 'assistant', content: 'Looking.', tool_calls: [call('c1'), call('c2', '{"x":')], timestamp },
        { id: 't1', role: 'tool', content: 'one', tool_call_id: 'c1', timestamp },
        { id: 's2', role: 'system', content: 'Summary: none.', timestamp },
      ],
    });
    const { requests } = await run(undefined, {}, request);
    expect(requests[0]?.body['instructions']).toBe('You are terse.\n\nSummary: none.');
    expect(requests[0]?.body['input']).toEqual([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'Looking.' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{"malformed_arguments":"{\\"x\\":"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
      { type: 'function_call_output', call_id: 'c2', output: 'no result was recorded' },
    ]);
  });

  test('hold pictures as data URIs, or a note for a model that cannot see', async () => {
    const request = modelRequest('look', { images: new Map([['u', [{ mime: 'image/webp', base64: 'AAAA' }]]]) });
    const input = async (vision: boolean) => {
      const facts = { maxOutputTokens: 1, tools: true, price: null, vision };
      return (await run(undefined, { facts }, request)).requests[0]?.body['input'];
    };
    expect(await input(true)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', detail: 'high', image_url: 'data:image/webp;base64,AAAA' },
        ],
      },
    ]);
    expect(await input(false)).toEqual([{ role: 'user', content: expect.stringMatching(/^look\n\[1 picture .*cannot see/) }]);
  });

  test('send the key and nothing of the environment, and no key when there is none', async () => {
    const set = {
      OPENAI_ORG_ID: 'org-other',
      OPENAI_CUSTOM_HEADERS: 'x-other: org-other',
      OPENAI_BASE_URL: 'http://127.0.0.1:9',
    };
    Object.assign(process.env, set, { OPENAI_API_KEY: 'org-other' });
    try {
      const { requests } = await run();
      expect(requests[0]?.headers['authorization']).toBe(`Bearer ${KEY}`);
      expect(JSON.stringify(requests)).not.toContain('org-other');
      expect((await run(undefined, { apiKey: '' })).requests[0]?.headers).not.toHaveProperty('authorization');
    } finally {
      for (const name of [...Object.keys(set), 'OPENAI_API_KEY']) delete process.env[name];
    }
  });

  test('do without the summary from the moment an organization may not have it', async () => {
    const message = 'Your organization must be verified to generate reasoning summaries.';
    const refusal = errorReply(400, { message, param: 'reasoning.summary', code: 'unsupported_value' });
    await using server = await startModelServer({ script: (_, index) => (index === 0 ? refusal : stream(plain)) });
    const model = responses(server.url);
    for (let call = 0; call < 2; call += 1) {
      const events = await collect(model.call(modelRequest('hi'), new AbortController().signal));
      expect(events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'ok' } });
    }
    expect(server.requests.map(({ body }) => 'reasoning' in body)).toEqual([true, false, false]);
  });
});

describe('answers', () => {
  const transcript = Buffer.from(
    [
      ': keep-alive\r\n\r\n',
      responsesOpen,
      responsesEvent('response.reasoning_summary_part.added', { output_index: 0 }),
      responsesEvent('response.reasoning_summary_text.delta', { output_index: 0, delta: 'ün' }),
      responsesEvent('response.reasoning_summary_part.added', { output_index: 0 }),
      responsesEvent('response.reasoning_summary_text.delta', { output_index: 0, delta: 'zwei' }),
      responsesEvent('response.output_item.done', { output_index: 0, item: { type: 'reasoning', summary: [{ text: 'ün' }] } }),
      responsesText('Grüße ', 1).replaceAll('\n', '\r\n'),
      responsesText('👋🏽', 1),
      responsesEvent('response.output_item.added', {
        output_index: 2,
        item: { type: 'function_call', call_id: 'c1', name: 'f' },
      }),
      responsesEvent('response.function_call_arguments.delta', { output_index: 2, delta: '{"a":' }),
      responsesEvent('response.function_call_arguments.delta', { output_index: 2, delta: '"é"}' }),
      responsesEnd({
        usage: { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 6 },
        output: [
          { type: 'reasoning', summary: [{ text: 'ün' }] },
          { type: 'message', content: [{ type: 'output_text', text: 'Grüße 👋🏽' }] },
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":"é"}' },
        ],
      }).trimEnd(),
    ].join(''),
  );

  const eventsOf = async (bytes: readonly Uint8Array[]): Promise<readonly ModelEvent[]> => {
    const body = ReadableStream.from(bytes.filter((part) => part.length > 0));
    const fetchBytes = async () =>
      new Response(body as ReadableStream<Uint8Array>, { headers: { 'content-type': 'text/event-stream' } });
    return collect(responses('http://127.0.0.1:9', { fetch: fetchBytes }).call(modelRequest('hi'), new AbortController().signal));
  };

  test('F28 a stream cut at any line end or inside any character, with mixed line ends and no final blank line, gives the same events as one piece', async () => {
    const whole = await eventsOf([transcript]);
    expect(streamedText(whole)).toBe('Grüße 👋🏽');
    expect(whole.at(-1)).toMatchObject({
      type: 'done',
      answer: {
        text: 'Grüße 👋🏽',
        reasoning: 'ün\n\nzwei',
        toolCalls: [{ id: 'c1', name: 'f', arguments: '{"a":"é"}' }],
        stop: 'tools',
        usage: { tokensIn: 9, tokensOut: 6, tokensCached: 4 },
      },
    });
    for (const at of tenderCuts(transcript)) {
      expect(await eventsOf([transcript.subarray(0, at), transcript.subarray(at)]), `cut at byte ${at}`).toEqual(whole);
    }
    expect(await eventsOf([...transcript].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  test('F28 arrive over a socket in pieces as small as a byte', async () => {
    const { events } = await run(stream([...transcript].map((byte) => Uint8Array.of(byte))));
    expect(streamedText(events)).toBe('Grüße 👋🏽');
  });

  test('hold calls made at once apart, whether their arguments come in pieces or whole', async () => {
    const calls = ['a', 'b'].map((id) => ({ id, name: 'f', arguments: `{"id":"${id}"}` }));
    const whole = calls.map((call, index) => {
      const item = { type: 'function_call', call_id: call.id, name: call.name, arguments: call.arguments };
      return responsesEvent('response.output_item.done', { output_index: index, item });
    });
    for (const pieces of [[responsesCalls(calls)], whole]) {
      const { events } = await run(stream([...pieces, responsesEnd()]));
      expect(events.at(-1)).toMatchObject({ type: 'done', answer: { toolCalls: calls, stop: 'tools' } });
    }
  });

  // https://docs.x.ai/developers/cost-tracking, seen on 2026-11-22: "in the usage object of chat completions,
  // Responses API, …".
  test('M10 the cost that a provider reports is told: xAI in ten-billionths of a USD, OpenRouter in USD', async () => {
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'ok' }] }];
    const costOf = async (more: object) => {
      const usage = { input_tokens: 1, output_tokens: 2, ...more };
      const { events } = await run(jsonReply({ object: 'response', status: 'completed', output, usage }));
      const last = events.at(-1);
      return last?.type === 'done' ? last.answer.usage.costUsd : last;
    };
    expect(await costOf({ cost_in_usd_ticks: 37_756_000 })).toBeCloseTo(0.0037756, 9);
    expect(await costOf({ cost: 0.25 })).toBe(0.25);
    expect(await costOf({})).toBeUndefined();
  });

  test('of a server that ignores `stream` are taken as well', async () => {
    const output = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'whole' }] },
    ];
    const usage = { input_tokens: 1, output_tokens: 2 };
    const { events } = await run(jsonReply({ object: 'response', status: 'completed', output, usage }));
    expect(events.at(-1)).toMatchObject({
      type: 'done',
      answer: { text: 'whole', reasoning: 'hm', usage: { tokensIn: 1, tokensOut: 2 } },
    });
  });

  test('are complete with the last event: a reset or silence afterwards changes nothing', async () => {
    for (const end of ['destroy', 'hang'] as const) {
      expect((await run(stream(plain, { end }))).events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'ok' } });
    }
  });

  test('F29 say how they ended: cut by the limit, withheld, refused, empty, reasoning alone', async () => {
    const incomplete = (reason: string) =>
      stream([responsesText('par'), responsesEnd({ status: 'incomplete', incomplete_details: { reason } })]);
    expect((await run(incomplete('max_output_tokens'))).events.at(-1)).toMatchObject({ answer: { stop: 'length', text: 'par' } });
    expect(failureOf(await run(incomplete('content_filter')))).toMatchObject({ kind: 'content-filter' });
    const refused = responsesEvent('response.refusal.delta', { output_index: 0, delta: 'I cannot.' });
    expect(failureOf(await run(stream([refused, responsesEnd()])))).toMatchObject({ kind: 'content-filter', retryable: false });
    expect(failureOf(await run(stream([responsesOpen, responsesEnd()])))).toMatchObject({ kind: 'empty', retryable: true });
    const thought = responsesEvent('response.reasoning_text.delta', { output_index: 0, delta: 'hm' });
    expect(failureOf(await run(stream([thought, responsesEnd()]))).message).toContain('only reasoning');
  });
});

describe('failures', () => {
  test.each([
    [400, { message: 'bad', type: 'invalid_request_error' }, 'bad-request', false],
    [400, { message: 'x', code: 'context_length_exceeded' }, 'context-length', false],
    [401, { message: 'no', code: 'invalid_api_key' }, 'auth', false],
    [404, { message: 'no such model' }, 'model-gone', false],
    [429, { message: 'slow' }, 'rate-limit', true],
    [429, { message: 'x', code: 'insufficient_quota' }, 'payment', false],
    [500, { message: 'oops' }, 'server', true],
    [503, { message: 'busy' }, 'overloaded', true],
    [529, { message: 'busy' }, 'overloaded', true],
  ] as const)('F24 F25 F26 status %i %o is %s', async (status, error, kind, retryable) => {
    const outcome = await run(errorReply(status, error));
    expect(failureOf(outcome)).toMatchObject({ kind, retryable, status });
    expect(outcome.requests, 'the wire itself never tries twice').toHaveLength(1);
  });

  test('F24 a 429 carries the wait of Retry-After', async () => {
    expect(failureOf(await run(errorReply(429, { message: 'slow' }, { 'retry-after': '7' }))).retryAfterMs).toBe(7_000);
  });

  test.each([
    ['server_error', 'server'],
    ['rate_limit_exceeded', 'rate-limit'],
    ['invalid_prompt', 'bad-request'],
    ['image_too_large', 'bad-request'],
    ['image_content_policy_violation', 'content-filter'],
    ['bio_policy', 'content-filter'],
  ])('a response that fails after its first text with %s is %s', async (code, kind) => {
    const failed = responsesEnd({ status: 'failed', error: { code, message: 'said the server' } });
    const event = responsesEvent('error', { code, message: 'said the server', param: null });
    for (const last of [failed, event]) {
      const outcome = await run(stream([responsesText('par'), last]));
      expect(streamedText(outcome.events)).toBe('par');
      expect(failureOf(outcome)).toMatchObject({ kind });
    }
  });

  test('F28 a stream that is cut, ends early, is empty or holds invalid JSON is malformed and worth another try', async () => {
    const first = responsesText('par');
    for (const reply of [
      stream([first], { end: 'destroy' }),
      stream([first]),
      stream([]),
      stream([first, 'event: response.output_text.delta\ndata: {"delta": [\n\n']),
    ]) {
      expect(failureOf(await run(reply))).toMatchObject({ kind: 'malformed', code: 'GH2109', retryable: true });
    }
  });

  test('F27 silence, keep-alive comments and events that bring nothing end by the idle limit and close the socket', async () => {
    const idle = { timeouts: { connectMs: 1_000, totalMs: 5_000, idleMs: 120 } };
    expect(failureOf(await run(stream([responsesText('a')], { end: 'hang' }), idle)).message).toContain('next chunk');
    for (const nothing of [': still here\n\n', responsesEvent('response.in_progress', { response: {} })]) {
      const kept = stream([responsesText('a'), ...Array(100).fill(nothing)], { gapMs: 10, end: 'hang' });
      expect(failureOf(await run(kept, idle))).toMatchObject({ kind: 'timeout' });
    }
  });

  test('M5 a thought that begins after text has the limit for thinking', async () => {
    const limits = { timeouts: { connectMs: 1_000, totalMs: 5_000, idleMs: 120, thinkingMs: 400 } };
    const thought = responsesEvent('response.output_item.added', { output_index: 1, item: { type: 'reasoning', id: 'rs_1' } });
    const outcome = await run(stream([responsesText('a'), thought], { end: 'hang' }), limits);
    expect(failureOf(outcome).message).toContain('no next chunk within 400 ms');
  });

  test('A29 no failure leaks the key, whole or in part, however the server quotes it', async () => {
    for (const form of [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString('base64'), KEY.slice(0, 16)]) {
      const replies = [
        ...[400, 401, 429, 500].map((status) => errorReply(status, { message: `key ${form} was refused`, code: form })),
        stream([responsesEvent('error', { code: form, message: `bad ${form}` })]),
        stream([responsesEnd({ status: 'failed', error: { code: 'server_error', message: `bad ${form}` } })]),
      ];
      for (const reply of replies) {
        const said = JSON.stringify((await run(reply)).events);
        expect(said).not.toContain('canary');
        expect(said).not.toContain(Buffer.from(KEY).toString('base64').slice(0, 12));
      }
    }
  });
});
