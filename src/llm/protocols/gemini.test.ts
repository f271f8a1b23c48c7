import { describe, expect, test, vi } from 'vitest';
import type { ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import { startAimock } from '../../testing/aimock.ts';
import { until } from '../../testing/fakes.ts';
import {
  jsonReply,
  type ModelServer,
  type Reply,
  sse,
  startModelServer,
  stream,
  tenderCuts,
} from '../../testing/model-server.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import { collect, modelContract, modelRequest, streamedText } from '../contract.ts';
import { createGemini } from './gemini.ts';
import { geminiCalls, geminiChunk, geminiEnd, geminiError } from './gemini-contract.ts';
import type { WireOptions } from './wire.ts';

const KEY = 'AIzaCanary-7f3a9c51d2e8b604';

function gemini(origin: string, override: Partial<WireOptions> = {}) {
  return createGemini({
    provider: 'gemini',
    model: 'gemini-2.5-flash',
    baseUrl: `${origin}/v1beta`,
    apiKey: KEY,
    contextWindow: 8_000,
    timeouts: { connectMs: 1_000, totalMs: 5_000 },
    clock: new SteadyClock(),
    ...override,
  });
}

const plain = [geminiChunk([{ text: 'ok' }]), geminiEnd()];

async function run(
  reply: Reply = stream(plain),
  override: Partial<WireOptions> = {},
  request: ModelRequest = modelRequest('hi'),
): Promise<{ events: ModelEvent[]; requests: ModelServer['requests'] }> {
  await using server = await startModelServer({ script: () => reply });
  const events = await collect(gemini(server.url, override).call(request, new AbortController().signal));
  if (reply.end === 'hang') await until('the server saw the connection end', () => server.requests.every(({ cut }) => cut));
  return { events, requests: server.requests };
}

function failureOf({ events }: { events: readonly ModelEvent[] }): ModelFailure {
  const last = events.at(-1);
  if (last?.type !== 'failed') throw new Error(`expected a failure, got ${JSON.stringify(last)}`);
  return last.failure;
}

function errorReply(code: number, status: string, message: string, details: readonly object[] = [], headers = {}): Reply {
  const body = JSON.stringify(geminiError(code, status, message, details));
  return { status: code, headers: { 'content-type': 'application/json; charset=UTF-8', ...headers }, pieces: [body] };
}

modelContract('gemini', async () => {
  const aimock = await startAimock({
    fixtures: [
      { match: { userMessage: 'hello' }, response: { content: 'Hello there.' } },
      { match: { userMessage: 'slow' }, response: { content: 'word '.repeat(60) }, latency: 100 },
    ],
  });
  return {
    model: gemini(aimock.url),
    answered: modelRequest('hello'),
    slow: modelRequest('slow'),
    [Symbol.asyncDispose]: () => aimock.stop(),
  };
});

describe('requests', () => {
  const tool = {
    name: 'read_file',
    description: 'Reads.',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
  };

  test('carry system instruction, contents, tools and limits to the path of the model', async () => {
    const request = modelRequest('hi', { tools: [tool], maxOutputTokens: 50, temperature: 0.2 });
    const { requests } = await run(undefined, {}, request);
    expect(requests[0]?.path).toBe('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
    expect(requests[0]?.body).toEqual({
      systemInstruction: { parts: [{ text: 'You are terse.' }] },
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'read_file',
              description: 'Reads.',
              parametersJsonSchema: tool.parameters,
            },
          ],
        },
      ],
      generationConfig: { maxOutputTokens: 50, temperature: 0.2, thinkingConfig: { includeThoughts: true } },
    });
  });

  test('ask no thoughts of a model that has none', async () => {
    const { requests } = await run(undefined, { model: 'gemini-2.0-flash' });
    expect(requests[0]?.body).not.toHaveProperty('generationConfig.thinkingConfig');
  });

  test('A29 carry the key in a header alone, and no header of the client library', async () => {
    const { requests } = await run();
    expect(requests[0]?.headers['x-goog-api-key']).toBe(KEY);
    expect(requests[0]?.path).not.toContain(KEY);
    expect(JSON.stringify(requests[0]?.body)).not.toContain(KEY);
    expect(requests[0]?.headers).not.toHaveProperty('x-goog-api-client');
    expect(requests[0]?.headers['user-agent']).toBe('gatehouse');
  });

  test('take nothing from the environment and print nothing about it, with a key and without', async () => {
    const set = {
      GOOGLE_API_KEY: 'canary',
      GEMINI_API_KEY: 'canary',
      GOOGLE_GENAI_USE_VERTEXAI: 'true',
      GOOGLE_GENAI_USE_ENTERPRISE: 'true',
      GOOGLE_CLOUD_PROJECT: 'canary',
      GOOGLE_CLOUD_LOCATION: 'canary',
      GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:9',
      GOOGLE_VERTEX_BASE_URL: 'http://127.0.0.1:9',
      GOOGLE_GENAI_API_VERSION: 'canary',
    };
    Object.assign(process.env, set);
    const printed = vi.spyOn(console, 'warn');
    try {
      const keyed = await run();
      const { apiKey: _, ...keyless } = { apiKey: KEY, provider: 'p', model: 'gemini-2.5-flash', contextWindow: 1 };
      await using server = await startModelServer({ script: () => stream(plain) });
      const timeouts = { connectMs: 1_000, totalMs: 5_000 };
      const model = createGemini({ ...keyless, baseUrl: `${server.url}/v1beta`, timeouts, clock: new SteadyClock() });
      expect((await collect(model.call(modelRequest('hi'), new AbortController().signal))).at(-1)?.type).toBe('done');
      expect(server.requests[0]?.headers).not.toHaveProperty('x-goog-api-key');
      expect(JSON.stringify([keyed.requests, server.requests])).not.toContain('canary');
      expect(printed).not.toHaveBeenCalled();
    } finally {
      printed.mockRestore();
      for (const name of Object.keys(set)) delete process.env[name];
    }
  });

  test('M6 give the signature of a call back with it, whatever the call is named here', async () => {
    const signed = geminiChunk([{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' }]);
    await using server = await startModelServer({ script: (_, index) => stream(index === 0 ? [signed, geminiEnd()] : plain) });
    const model = gemini(server.url, { model: 'gemini-3-pro' });
    const first = (await collect(model.call(modelRequest('go'), new AbortController().signal))).at(-1);
    if (first?.type !== 'done') throw new Error('no answer');
    const { messages } = modelRequest('go');
    const timestamp = '2026-01-01T00:00:00Z';
    const { toolCalls, providerState } = first.answer;
    const tool_calls = toolCalls.map((call) => ({ ...call, id: 'ours', provider_ids: [call.id] }));
    const kept = providerState ? { provider_state: providerState } : {};
    const request = modelRequest('go', {
      messages: [
        ...messages,
        { id: 'a', role: 'assistant', content: '', tool_calls, timestamp, ...kept },
        { id: 't', role: 'tool', content: 'done', tool_call_id: 'ours', timestamp },
      ],
    });
    await collect(model.call(request, new AbortController().signal));
    expect(server.requests[1]?.body['contents']).toEqual([
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'done' } } }] },
    ]);
  });

  test.each([
    ['gemini-3.8-flash', 'auto', undefined, { includeThoughts: true }],
    ['gemini-3.8-flash', 'high', undefined, { includeThoughts: true, thinkingLevel: 'HIGH' }],
    ['gemini-3.8-flash', 'off', ['low', 'medium', 'high'], { includeThoughts: true, thinkingLevel: 'LOW' }],
    ['gemini-3.5-flash', 'off', ['minimal', 'low', 'medium', 'high'], { includeThoughts: true, thinkingLevel: 'MINIMAL' }],
    ['gemini-2.5-pro', 'off', undefined, { includeThoughts: true, thinkingBudget: 128 }],
    ['gemini-2.5-flash-lite', 'off', undefined, { includeThoughts: false, thinkingBudget: 0 }],
    ['gemini-2.5-flash', 'medium', undefined, { includeThoughts: true, thinkingBudget: 8_192 }],
    ['gemini-2.5-flash', 'off', ['on'], { includeThoughts: false, thinkingBudget: 0 }],
    ['gemini-2.5-pro', 'high', undefined, { includeThoughts: true, thinkingBudget: 32_768 }],
  ] as const)('%s at level %s with words %s gets %o', async (model, thinking, words, expected) => {
    const facts = { maxOutputTokens: 9_000, vision: true, tools: true, price: null, ...(words ? { thinking: words } : {}) };
    const { requests } = await run(
      undefined,
      { model, facts, contextWindow: 100_000 },
      modelRequest('hi', { thinking, maxOutputTokens: 99_999 }),
    );
    expect(requests[0]?.body['generationConfig']).toEqual({ maxOutputTokens: 9_000, thinkingConfig: expected });
  });

  test('M6 are sent once more without signatures when the provider refuses one', async () => {
    const refused = errorReply(400, 'INVALID_ARGUMENT', 'Corrupted thought signature.');
    const data = { parts: [{ chars: 1, signature: 'old' }] };
    const timestamp = '2026-01-01T00:00:00Z';
    const provider_state = { provider: 'gemini', model: 'gemini-2.5-flash', data };
    const said = { id: 'a', role: 'assistant' as const, content: 'a', timestamp, provider_state };
    const request = modelRequest('hi', {
      messages: [...modelRequest('hi').messages, said, { id: 'v', role: 'user', content: 'v', timestamp }],
    });
    await using server = await startModelServer({ script: (_, index) => (index === 0 ? refused : stream(plain)) });
    const events = await collect(gemini(server.url).call(request, new AbortController().signal));
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'ok' } });
    expect(server.requests.map(({ body }) => JSON.stringify(body).includes('thoughtSignature'))).toEqual([true, false]);
    expect((await run(refused)).requests).toHaveLength(1);
  });
});

describe('answers', () => {
  const transcript = Buffer.from(
    [
      ': keep-alive\n\n',
      geminiChunk([{ text: 'ün ', thought: true }], { usageMetadata: { promptTokenCount: 9 } }),
      geminiChunk([{ text: 'Grüße ' }]),
      sse({ candidates: [{ content: { role: 'model', parts: [{ text: '👋🏽' }] } }] }),
      geminiChunk([{ functionCall: { id: 'c1', name: 'f', args: { a: 'é' } } }]),
      geminiEnd('STOP', {
        promptTokenCount: 9,
        toolUsePromptTokenCount: 1,
        candidatesTokenCount: 4,
        thoughtsTokenCount: 3,
        cachedContentTokenCount: 6,
      }).trimEnd(),
    ].join(''),
  );

  const eventsOf = async (bytes: readonly Uint8Array[]): Promise<readonly ModelEvent[]> => {
    const body = ReadableStream.from(bytes.filter((part) => part.length > 0));
    const fetchBytes = async () =>
      new Response(body as ReadableStream<Uint8Array>, { headers: { 'content-type': 'text/event-stream' } });
    return collect(gemini('http://127.0.0.1:9', { fetch: fetchBytes }).call(modelRequest('hi'), new AbortController().signal));
  };

  test('F28 a stream cut at any line end or inside any character, with mixed line ends and no final blank line, gives the same events as one piece', async () => {
    const whole = await eventsOf([transcript]);
    expect(whole.map(({ type }) => type)).toEqual(['reasoning', 'text', 'text', 'done']);
    expect(whole.at(-1)).toMatchObject({
      answer: {
        text: 'Grüße 👋🏽',
        reasoning: 'ün ',
        toolCalls: [{ id: 'c1', name: 'f', arguments: '{"a":"é"}' }],
        stop: 'tools',
        usage: { tokensIn: 10, tokensOut: 7, tokensCached: 6 },
      },
    });
    for (const at of tenderCuts(transcript)) {
      expect(await eventsOf([transcript.subarray(0, at), transcript.subarray(at)]), `cut at byte ${at}`).toEqual(whole);
    }
    expect(await eventsOf([...transcript].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  test('F28 an error in the middle is the same failure wherever the bytes are cut', async () => {
    const bytes = Buffer.from(geminiChunk([{ text: 'é' }]) + sse(geminiError(429, 'RESOURCE_EXHAUSTED', 'é')));
    const whole = await eventsOf([bytes]);
    expect(whole).toMatchObject([{ type: 'text', text: 'é' }, { failure: { kind: 'rate-limit' } }]);
    for (let at = 1; at < bytes.length; at += 1) {
      expect(await eventsOf([bytes.subarray(0, at), bytes.subarray(at)]), `cut at byte ${at}`).toEqual(whole);
    }
  });

  test('F28 arrive over a socket in pieces as small as a byte', async () => {
    const { events } = await run(stream([...transcript].map((byte) => Uint8Array.of(byte))));
    expect(streamedText(events)).toBe('Grüße 👋🏽');
  });

  test.each([false, true])('numbers of a call stay as they were written (without a stream: %s)', async (isWhole) => {
    const args = '{"id":9007199254740993,"ids":[725653563933458432,-12345678901234567890,1],"half":0.5}';
    const chunk = geminiChunk([{ functionCall: { name: 'probe', args: 'ARGS' } }]).replace('"ARGS"', args);
    const list = `[${[chunk, geminiEnd()].map((event) => event.replace(/^data: /, ''))}]`;
    const whole: Reply = { headers: { 'content-type': 'application/json' }, pieces: [list] };
    const { events } = await run(isWhole ? whole : stream([chunk, geminiEnd()]));
    const last = events.at(-1);
    expect(last?.type === 'done' && last.answer.toolCalls.map((call) => call.arguments)).toEqual([args]);
  });

  test('calls without an id get one each, in one chunk or in several', async () => {
    const one = { name: 'f', arguments: '{}' };
    const { events } = await run(stream([geminiCalls([one, one]), geminiCalls([one]), geminiEnd()]));
    const last = events.at(-1);
    if (last?.type !== 'done') throw new Error('no answer');
    expect(last.answer.toolCalls.map(({ name }) => name)).toEqual(['f', 'f', 'f']);
    expect(new Set(last.answer.toolCalls.map(({ id }) => id)).size).toBe(3);
    expect(last.answer.toolCalls.every(({ id }) => id !== '')).toBe(true);
  });

  test('F29 a withheld answer is billed, and another model that answered is told', async () => {
    const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 2, thoughtsTokenCount: 3 };
    const withheld = await run(stream([geminiChunk([{ text: 'a' }]), geminiEnd('SAFETY', usageMetadata)]));
    expect(failureOf(withheld)).toMatchObject({ usage: { tokensIn: 7, tokensOut: 5, tokensReasoning: 3 } });
    const served = await run(stream([geminiChunk([{ text: 'a' }], { modelVersion: 'gemini-3.8-flash' }), geminiEnd()]));
    expect(served.events.at(-1)).toMatchObject({ answer: { model: 'gemini-2.5-flash', servedModel: 'test' } });
  });

  test('M6 keep a signature on the part it came with, text joined only between them', async () => {
    const chunks = [
      geminiChunk([{ text: 'hm', thought: true }, { text: 'a' }]),
      geminiChunk([{ text: 'b' }, { text: 'c', thoughtSignature: 's1' }]),
      geminiChunk([
        { text: 'd' },
        { functionCall: { id: 'x', name: 'f' }, thoughtSignature: 's2' },
        { functionCall: { name: 'g' } },
      ]),
      geminiChunk([{ text: '', thoughtSignature: 's3' }]),
    ];
    const { events } = await run(stream([...chunks, geminiEnd()]));
    expect(events.at(-1)).toMatchObject({
      answer: {
        providerState: {
          provider: 'gemini',
          model: 'gemini-2.5-flash',
          data: {
            parts: [
              { chars: 2 },
              { chars: 1, signature: 's1' },
              { chars: 1 },
              { call: 'x', id: 'x', signature: 's2' },
              { call: 'call_1' },
              { chars: 0, signature: 's3' },
            ],
          },
        },
      },
    });
  });

  test('of a server that ignores `alt=sse` are taken as well', async () => {
    const { events } = await run(jsonReply({ candidates: [{ content: { parts: [{ text: 'whole' }] }, finishReason: 'STOP' }] }));
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'whole' } });
    // Chunks in a list, which together are longer than a line of a stream may be, written over several lines.
    const words = Array.from({ length: 3 }, (_, part) => Array.from({ length: 60_000 }, (_word, n) => `w${part}${n} `).join(''));
    const chunks = words.map((text) => ({ candidates: [{ content: { parts: [{ text }] } }] }));
    const list = JSON.stringify([...chunks, { candidates: [{ finishReason: 'STOP' }] }], undefined, 1).split(/(?<=\n)/);
    const listed = await run({ headers: { 'content-type': 'application/json' }, pieces: list });
    expect(listed.events.at(-1)).toMatchObject({ type: 'done', answer: { text: words.join('') } });
  });

  test('are complete with the finish reason: a reset or silence afterwards changes nothing', async () => {
    for (const end of ['destroy', 'hang'] as const) {
      expect((await run(stream(plain, { end }))).events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'ok' } });
    }
  });

  test.each([
    ['STOP', { type: 'done', answer: { stop: 'end' } }],
    ['MAX_TOKENS', { type: 'done', answer: { stop: 'length' } }],
    ['OTHER', { type: 'done', answer: { stop: 'end' } }],
    ['SAFETY', { failure: { kind: 'content-filter', retryable: false } }],
    ['RECITATION', { failure: { kind: 'content-filter' } }],
    ['PROHIBITED_CONTENT', { failure: { kind: 'content-filter' } }],
    ['SPII', { failure: { kind: 'content-filter' } }],
    ['BLOCKLIST', { failure: { kind: 'content-filter' } }],
    ['MALFORMED_FUNCTION_CALL', { failure: { kind: 'malformed', retryable: true } }],
    ['UNEXPECTED_TOOL_CALL', { failure: { kind: 'malformed' } }],
  ])('F29 finish reason %s ends as %o', async (reason, last) => {
    const { events } = await run(stream([geminiChunk([{ text: 'part' }]), geminiEnd(reason)]));
    expect(events.at(-1)).toMatchObject(last);
  });

  test('F29 a refused prompt is not sent again, an answer of thoughts alone is', async () => {
    const refused = await run(stream([sse({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })]));
    expect(failureOf(refused)).toMatchObject({ kind: 'content-filter', retryable: false });
    expect(failureOf(refused).message).toContain('PROHIBITED_CONTENT');
    const thoughts = await run(stream([geminiChunk([{ text: 'hm', thought: true }]), geminiEnd()]));
    expect(failureOf(thoughts)).toMatchObject({ kind: 'empty', retryable: true });
    expect(failureOf(await run(stream([geminiEnd()])))).toMatchObject({ kind: 'empty' });
  });
});

describe('failures', () => {
  test.each([
    [400, 'INVALID_ARGUMENT', 'Unknown name "foo"', 'bad-request', false],
    [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'auth', false],
    [400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.', 'bad-request', false],
    [
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'context-length',
      false,
    ],
    [401, 'UNAUTHENTICATED', 'no', 'auth', false],
    [403, 'PERMISSION_DENIED', 'no', 'forbidden', false],
    [404, 'NOT_FOUND', 'models/x is not found', 'model-gone', false],
    [
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details.',
      'rate-limit',
      true,
    ],
    [500, 'INTERNAL', 'oops', 'server', true],
    [503, 'UNAVAILABLE', 'The model is overloaded.', 'overloaded', true],
    [504, 'DEADLINE_EXCEEDED', 'late', 'server', true],
    [529, 'UNAVAILABLE', 'busy', 'overloaded', true],
  ] as const)('F24 F25 F26 status %i %s "%s" is %s', async (code, status, message, kind, retryable) => {
    const outcome = await run(errorReply(code, status, message));
    expect(failureOf(outcome)).toMatchObject({ kind, retryable, status: code });
    expect(outcome.requests, 'the wire itself never tries twice').toHaveLength(1);
  });

  test('F24 a 429 carries the wait of Retry-After, or else of RetryInfo', async () => {
    const info = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '38.5s' };
    const wait = async (details: object[], headers = {}) =>
      failureOf(await run(errorReply(429, 'RESOURCE_EXHAUSTED', 'slow', details, headers))).retryAfterMs;
    expect(await wait([{ '@type': 'type.googleapis.com/google.rpc.Help' }, info])).toBe(38_500);
    expect(await wait([], { 'retry-after': '7' })).toBe(7_000);
    expect(await wait([])).toBeUndefined();
  });

  test('an error body in a list, or one that is no JSON, is read as well', async () => {
    const listed = JSON.stringify([geminiError(503, 'UNAVAILABLE', 'busy')]);
    const headers = { 'content-type': 'application/json' };
    expect(failureOf(await run({ status: 503, headers, pieces: [listed] })).message).toContain('busy');
    expect(failureOf(await run({ status: 502, pieces: ['Bad Gateway'] }))).toMatchObject({ kind: 'server', status: 502 });
  });

  test('an error in the middle of a stream fails the call after the text before it', async () => {
    const first = geminiChunk([{ text: 'par' }]);
    for (const [code, status, kind] of [
      [503, 'UNAVAILABLE', 'overloaded'],
      [429, 'RESOURCE_EXHAUSTED', 'rate-limit'],
      [500, 'INTERNAL', 'server'],
    ] as const) {
      const outcome = await run(stream([first, sse(geminiError(code, status, 'busy'))]));
      expect(streamedText(outcome.events)).toBe('par');
      expect(failureOf(outcome)).toMatchObject({ kind, retryable: true });
    }
  });

  test('F28 a stream that is cut, ends early, is empty or holds invalid JSON is malformed and worth another try', async () => {
    const first = geminiChunk([{ text: 'par' }]);
    for (const reply of [
      stream([first], { end: 'destroy' }),
      stream([first]),
      stream([]),
      stream([first, 'data: {"candidates": [\r\n\r\n']),
      stream([first, 'data: {"candidates": [']),
    ]) {
      expect(failureOf(await run(reply))).toMatchObject({ kind: 'malformed', code: 'GH2109', retryable: true });
    }
  });

  test('F28 a line past 1 MB ends the call instead of filling the memory', async () => {
    const { events } = await run(stream(['data: ', ...Array(20).fill('x'.repeat(100_000))], { end: 'hang' }));
    expect(failureOf({ events })).toMatchObject({ kind: 'malformed', message: expect.stringContaining('past the limit') });
  });

  test('a web page or a redirect in place of an API is a bad base_url, and the key does not follow', async () => {
    const page = await run({ headers: { 'content-type': 'text/html' }, pieces: ['<html>'] });
    expect(failureOf(page)).toMatchObject({ kind: 'bad-request', hint: expect.stringContaining('base_url') });
    const redirect = await run({ status: 307, headers: { location: 'http://127.0.0.1:1/' }, pieces: [] });
    expect(failureOf(redirect)).toMatchObject({ kind: 'bad-request', status: 307 });
  });

  test('a refused connection says where nothing listens', async () => {
    const server = await startModelServer();
    await server[Symbol.asyncDispose]();
    const events = await collect(gemini(server.url).call(modelRequest('hi'), new AbortController().signal));
    expect(failureOf({ events })).toMatchObject({ kind: 'network', hint: expect.stringContaining(server.url) });
  });

  test('F27 silence, keep-alive comments and chunks that bring nothing end by the idle limit and close the socket', async () => {
    const idle = { timeouts: { connectMs: 1_000, totalMs: 5_000, idleMs: 120 } };
    const first = geminiChunk([{ text: 'a' }]);
    expect(failureOf(await run(stream([first], { end: 'hang' }), idle)).message).toContain('next chunk');
    for (const nothing of [': still here\n\n', geminiChunk([], { usageMetadata: { promptTokenCount: 1 } })]) {
      const kept = stream([first, ...Array(100).fill(nothing)], { gapMs: 10, end: 'hang' });
      expect(failureOf(await run(kept, idle))).toMatchObject({ kind: 'timeout' });
    }
  });

  test('A29 no failure leaks the key, whole or in part, however the server quotes it', async () => {
    for (const form of [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString('base64'), KEY.slice(0, 18)]) {
      const replies = [
        ...[400, 401, 403, 429, 500].map((status) => errorReply(status, form, `key ${form} was refused`)),
        { status: 500, headers: { 'content-type': 'text/plain' }, pieces: [form] },
        stream([sse(geminiError(500, 'INTERNAL', `bad ${form}`))]),
        stream([`data: {${form}\n\n`]),
      ];
      for (const reply of replies) {
        const said = JSON.stringify((await run(reply)).events);
        expect(said).not.toContain('Canary');
        expect(said).not.toContain(Buffer.from(KEY).toString('base64').slice(0, 12));
      }
    }
  });
});
