import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import type { ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import { until } from '../../testing/fakes.ts';
import {
  chunk,
  errorReply,
  jsonReply,
  type ModelServer,
  type Reply,
  sse,
  startModelServer,
  stream,
  tenderCuts,
  textPieces,
} from '../../testing/model-server.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import { openrouter } from '../../testing/strict/openrouter.ts';
import { startStrictServer } from '../../testing/strict/strict-server.ts';
import { collect, modelContract, modelRequest, streamedText } from '../contract.ts';
import { createOpenAiChat } from './openai-chat.ts';
import type { WireOptions } from './wire.ts';

const KEY = 'sk-canary-7f3a9c51d2e8b604';

function chat(url: string, override: Partial<WireOptions> = {}) {
  return createOpenAiChat({
    provider: 'test',
    model: 'test-1',
    baseUrl: `${url}/v1`,
    apiKey: KEY,
    contextWindow: 8_000,
    timeouts: { connectMs: 1_000, totalMs: 5_000 },
    clock: new SteadyClock(),
    ...override,
  });
}

async function run(
  reply: Reply | undefined,
  override: Partial<WireOptions> = {},
  request: ModelRequest = modelRequest('hi'),
): Promise<{ events: ModelEvent[]; requests: ModelServer['requests'] }> {
  await using server = await startModelServer({ script: () => reply });
  const events = await collect(chat(server.url, override).call(request, new AbortController().signal));
  if (!reply?.end || reply.end === 'close') return { events, requests: server.requests };
  await until('the server saw the connection end', () => server.requests.every((received) => received.cut));
  return { events, requests: server.requests };
}

function failureOf(events: readonly ModelEvent[]): ModelFailure {
  const last = events.at(-1);
  if (last?.type !== 'failed') throw new Error(`expected a failure, got ${JSON.stringify(last)}`);
  expect(events.filter((event) => event.type === 'done' || event.type === 'failed')).toHaveLength(1);
  return last.failure;
}

modelContract('openai-chat', async () => {
  const server = await startModelServer({
    script: (request) =>
      JSON.stringify(request.body).includes('slow') ? stream(textPieces(...'abcdefghij'), { gapMs: 100 }) : undefined,
  });
  return {
    model: chat(server.url),
    answered: modelRequest('hello'),
    slow: modelRequest('slow'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});

describe('requests', () => {
  test('carry model, messages, tools and limits, and ask for the usage', async () => {
    const parameters = { type: 'object', properties: { path: { type: 'string' } } };
    const request = modelRequest('hi', {
      tools: [{ name: 'read_file', description: 'Reads.', parameters }],
      maxOutputTokens: 50,
      temperature: 0.2,
    });
    const { requests } = await run(undefined, {}, request);
    expect(requests[0]?.path).toBe('/v1/chat/completions');
    expect(requests[0]?.body).toEqual({
      model: 'test-1',
      messages: [
        { role: 'system', content: 'You are terse.' },
        { role: 'user', content: 'hi' },
      ],
      stream: true,
      stream_options: { include_usage: true },
      tools: [{ type: 'function', function: { name: 'read_file', description: 'Reads.', parameters } }],
      max_tokens: 50,
      temperature: 0.2,
    });
  });

  // https://platform.kimi.ai/docs/api/chat: "If not specified, defaults to a reasonable integer such as
  // 1024"; docs.fireworks.ai (FAQ, limits for models): "max_tokens is set at 2K by default". Both seen on
  // 2026-11-22.
  test('M8 state an output limit where the server would end after a page, at most what the model puts out', async () => {
    const limits = async (override: Partial<WireOptions>, more: Partial<ModelRequest> = {}) => {
      const { requests } = await run(undefined, { contextWindow: 262_144, ...override }, modelRequest('hi', more));
      const { max_tokens: most, max_completion_tokens: mostCompleted } = requests[0]?.body ?? {};
      return most ?? mostCompleted;
    };
    const facts = (maxOutputTokens: number) => ({ maxOutputTokens, vision: true, tools: true, price: null });
    expect(await limits({ provider: 'moonshot', facts: facts(262_144) })).toBe(32_000);
    expect(await limits({ provider: 'fireworks', facts: facts(262_144) })).toBe(32_000);
    expect(await limits({ provider: 'fireworks', facts: facts(8_192) })).toBe(8_192);
    expect(await limits({ provider: 'moonshot', facts: facts(262_144) }, { maxOutputTokens: 50_000 })).toBe(50_000);
    expect(await limits({ provider: 'openai', facts: facts(128_000) })).toBeUndefined();
    // Nor more than the window has room for.
    expect(await limits({ provider: 'moonshot', facts: facts(262_144), contextWindow: 8_000 })).toBeLessThan(8_000);
  });

  test.each(['anthropic/claude-sonnet-5.5', '~anthropic/claude-sonnet-latest'])(
    'M7 tell OpenRouter to cache for %s, which caches only what it is told to',
    async (model) => {
      const { requests } = await run(undefined, { provider: 'openrouter', model });
      expect(requests[0]?.body).toMatchObject({ cache_control: { type: 'ephemeral' } });
    },
  );

  test('send the key and nothing of the environment', async () => {
    process.env['OPENAI_ORG_ID'] = 'org-canary';
    process.env['OPENAI_CUSTOM_HEADERS'] = 'x-other: canary';
    try {
      const { requests } = await run(undefined);
      expect(requests[0]?.headers['authorization']).toBe(`Bearer ${KEY}`);
      expect(JSON.stringify(requests[0]?.headers)).not.toContain('canary"');
    } finally {
      delete process.env['OPENAI_ORG_ID'];
      delete process.env['OPENAI_CUSTOM_HEADERS'];
    }
  });

  test('without a key send no Authorization, even when OPENAI_API_KEY is set', async () => {
    process.env['OPENAI_API_KEY'] = KEY;
    try {
      await using server = await startModelServer();
      const { apiKey: _, ...rest } = {
        apiKey: KEY,
        provider: 'ollama',
        model: 'qwen3',
        baseUrl: `${server.url}/v1`,
        contextWindow: 1,
      };
      const model = createOpenAiChat({ ...rest, timeouts: { connectMs: 1_000, totalMs: 5_000 }, clock: new SteadyClock() });
      await collect(model.call(modelRequest('hi'), new AbortController().signal));
      expect(server.requests[0]?.headers['authorization']).toBeUndefined();
    } finally {
      delete process.env['OPENAI_API_KEY'];
    }
  });
});

describe('answers', () => {
  const transcript = Buffer.from(
    [
      ': keep-alive\r\n\r\n',
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'ün ' }),
      chunk({ content: 'Grüße ' }).replaceAll('\n', '\r\n'),
      chunk({ content: '👋🏽' }),
      chunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":"é"}' } }] }),
      chunk({}, 'tool_calls'),
      sse({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } }),
      'data: [DONE]',
    ].join(''),
  );

  const answerOf = async (bytes: readonly Uint8Array[]): Promise<unknown> => {
    const body = ReadableStream.from(bytes.filter((part) => part.length > 0));
    const fetchBytes = async () =>
      new Response(body as ReadableStream<Uint8Array>, { headers: { 'content-type': 'text/event-stream' } });
    const events = await collect(
      chat('http://127.0.0.1:9', { fetch: fetchBytes }).call(modelRequest('hi'), new AbortController().signal),
    );
    return events.at(-1);
  };

  test('F28 a stream cut at any line end or inside any character, with mixed line ends and no final blank line, gives the same answer as one piece', async () => {
    const whole = await answerOf([transcript]);
    expect(whole).toMatchObject({
      type: 'done',
      answer: {
        text: 'Grüße 👋🏽',
        reasoning: 'ün ',
        toolCalls: [{ id: 'c1', name: 'f', arguments: '{"a":"é"}' }],
        stop: 'tools',
        usage: { tokensIn: 3, tokensOut: 4, tokensCached: 0 },
      },
    });
    for (const at of tenderCuts(transcript)) {
      expect(await answerOf([transcript.subarray(0, at), transcript.subarray(at)]), `cut at byte ${at}`).toEqual(whole);
    }
    expect(await answerOf([...transcript].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  test('arrive over a socket in pieces as small as a byte', async () => {
    const bytes = [...Buffer.from(textPieces('a', 'b').join(''))].map((byte) => Uint8Array.of(byte));
    const { events } = await run(stream(bytes));
    expect(streamedText(events)).toBe('ab');
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: { stop: 'end', usage: { tokensIn: 7, tokensOut: 2 } } });
  });

  test('of a server that ignores `stream` are taken as well', async () => {
    const body = {
      choices: [{ message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    };
    const { events } = await run(jsonReply(body));
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'whole' } });
  });

  test('are complete with the finish reason: a reset or silence afterwards changes nothing', async () => {
    const pieces = [chunk({ content: 'all' }), chunk({}, 'stop')];
    for (const end of ['destroy', 'hang'] as const) {
      const { events } = await run(stream(pieces, { end }));
      expect(events.at(-1), end).toMatchObject({ type: 'done', answer: { text: 'all' } });
    }
  });

  test('a model in a loop is stopped, its connection closed, and the repetition replaced by a mark', async () => {
    const pieces = [chunk({ content: 'Start: ' }), ...Array(40).fill(chunk({ content: 'I will now look at it again. ' }))];
    const { events } = await run(stream(pieces, { end: 'hang', gapMs: 1 }));
    expect(events.at(-1)).toMatchObject({
      type: 'done',
      answer: { text: 'Start: I will now look at it again. [… the model repeated itself; the rest was cut]' },
    });
    expect(streamedText(events)).toBe('Start: I will now look at it again. [… the model repeated itself; the rest was cut]');
  });
});

describe('failures', () => {
  test.each([
    [400, { message: 'bad field' }, 'bad-request', 'GH2106', false],
    [400, { code: 'context_length_exceeded', message: 'too long' }, 'context-length', 'GH2107', false],
    [400, { code: 'content_filter', message: 'filtered' }, 'content-filter', 'GH2111', false],
    [401, { message: `Incorrect API key provided: ${KEY}` }, 'auth', 'GH2101', false],
    [402, { message: 'pay' }, 'payment', 'GH2110', false],
    [403, { message: 'no' }, 'forbidden', 'GH2118', false],
    [404, { message: 'no such model' }, 'model-gone', 'GH2117', false],
    [408, { message: 'slow' }, 'timeout', 'GH2105', true],
    [409, { message: 'conflict' }, 'server', 'GH2103', true],
    [413, { message: 'large' }, 'context-length', 'GH2107', false],
    [429, { message: 'slow down' }, 'rate-limit', 'GH2102', true],
    [429, { code: 'insufficient_quota', message: 'You exceeded your current quota' }, 'payment', 'GH2110', false],
    [500, { message: 'oops' }, 'server', 'GH2103', true],
    [502, { message: 'oops' }, 'server', 'GH2103', true],
    [503, { message: 'oops' }, 'overloaded', 'GH2103', true],
    [504, { message: 'oops' }, 'server', 'GH2103', true],
    [529, { message: 'oops' }, 'overloaded', 'GH2103', true],
  ] as const)('F25 F26 status %i %o is %s', async (status, error, kind, code, retryable) => {
    const { events, requests } = await run(errorReply(status, error));
    expect(failureOf(events)).toMatchObject({ kind, code, retryable, status });
    expect(requests, 'the wire itself never tries twice').toHaveLength(1);
  });

  test('a 404 hints at the model name', async () => {
    expect(failureOf((await run(errorReply(404, { message: 'x' }))).events).hint).toContain('"test-1"');
  });

  test('F24 a 429 carries the wait the provider asks for', async () => {
    const waitAfter = async (headers: Record<string, string>, message = 'slow') =>
      failureOf((await run(errorReply(429, { message }, headers))).events).retryAfterMs;
    expect(await waitAfter({ 'retry-after': '7' })).toBe(7_000);
    expect(await waitAfter({ 'retry-after-ms': '250', 'retry-after': '9' })).toBe(250);
    expect(await waitAfter({}, 'Please try again in 1.5s.')).toBe(2_500);
    expect(await waitAfter({})).toBeUndefined();
  });

  test('an error in the middle of a stream fails the call after the text before it', async () => {
    const { events } = await run(
      stream([chunk({ content: 'par' }), sse({ error: { code: 'overloaded_error', message: 'busy' } })]),
    );
    expect(streamedText(events)).toBe('par');
    expect(failureOf(events)).toMatchObject({ kind: 'overloaded', retryable: true });
    const numbered = await run(stream([chunk({ content: 'par' }), sse({ error: { code: 429, message: 'busy' } })]));
    expect(failureOf(numbered.events)).toMatchObject({ kind: 'rate-limit' });
  });

  test('F28 a stream that is cut, ends without a finish reason or holds invalid JSON is malformed and worth another try', async () => {
    const cut = await run(stream([chunk({ content: 'par' })], { end: 'destroy' }));
    expect(failureOf(cut.events)).toMatchObject({ kind: 'malformed', code: 'GH2109', retryable: true });
    expect(failureOf((await run(stream([chunk({ content: 'par' })]))).events)).toMatchObject({ kind: 'malformed' });
    expect(failureOf((await run(stream([]))).events)).toMatchObject({ kind: 'malformed' });
    expect(failureOf((await run(stream([chunk({ content: 'par' }), 'data: {"choices": [\n\n']))).events)).toMatchObject({
      kind: 'malformed',
    });
  });

  test('F28 a line past 1 MB ends the call instead of filling the memory', async () => {
    const { events } = await run(stream(['data: ', ...Array(20).fill('x'.repeat(100_000))], { end: 'hang' }));
    expect(failureOf(events)).toMatchObject({ kind: 'malformed' });
  });

  test('errors under status 200 fail the call: inside a choice as at OpenRouter, or as a code as at MiniMax', async () => {
    const inChoice = {
      choices: [{ delta: { content: '' }, finish_reason: 'error', error: { code: 502, message: 'host down' } }],
    };
    const base = { base_resp: { status_code: 1008, status_msg: 'insufficient balance' }, choices: null };
    const failed = async (body: object) => failureOf((await run(stream([`data: ${JSON.stringify(body)}\n\n`]))).events);
    expect(await failed(inChoice)).toMatchObject({ kind: 'server' });
    expect(await failed(base)).toMatchObject({ kind: 'payment' });
  });

  test('F29 nothing, or only reasoning, is empty; a withheld answer is content-filter', async () => {
    expect(failureOf((await run(stream(textPieces()))).events)).toMatchObject({ kind: 'empty', code: 'GH2108', retryable: true });
    const thinking = stream([chunk({ content: '<think>hm</think>\n' }), chunk({}, 'stop')]);
    expect(failureOf((await run(thinking)).events).message).toContain('only reasoning');
    const withheld = stream([chunk({ content: 'x' }), chunk({}, 'content_filter')]);
    expect(failureOf((await run(withheld)).events)).toMatchObject({ kind: 'content-filter', code: 'GH2111' });
  });

  test('a web page or a redirect in place of an API is a bad base_url', async () => {
    const page = await run({ headers: { 'content-type': 'text/html' }, pieces: ['<html>'] });
    expect(failureOf(page.events)).toMatchObject({ kind: 'bad-request', hint: expect.stringContaining('base_url') });
    const redirect = await run({ status: 307, headers: { location: 'http://127.0.0.1:1/' }, pieces: [] });
    expect(failureOf(redirect.events)).toMatchObject({ kind: 'bad-request', status: 307 });
  });

  test('a refused connection says where nothing listens', async () => {
    const server = await startModelServer();
    await server[Symbol.asyncDispose]();
    const failure = failureOf(await collect(chat(server.url).call(modelRequest('hi'), new AbortController().signal)));
    expect(failure).toMatchObject({
      kind: 'network',
      code: 'GH2104',
      retryable: true,
      hint: expect.stringContaining(server.url),
    });
  });

  test('an expired certificate is named and not tried again', async () => {
    const refuse = async () => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('certificate'), { code: 'CERT_HAS_EXPIRED' }) });
    };
    const failure = failureOf(
      await collect(chat('https://127.0.0.1', { fetch: refuse }).call(modelRequest('hi'), new AbortController().signal)),
    );
    expect(failure).toMatchObject({ kind: 'network', retryable: false, hint: expect.stringContaining('expired') });
  });
});

describe('time limits', () => {
  const short = (timeouts: Partial<WireOptions['timeouts']>) => ({
    timeouts: { connectMs: 1_000, totalMs: 5_000, ...timeouts },
  });

  test('a first token that is too slow ends the call; headers and an empty role chunk are no token', async () => {
    const { events } = await run(
      stream([chunk({ role: 'assistant', content: '' })], { end: 'hang' }),
      short({ firstTokenMs: () => 120 }),
    );
    expect(failureOf(events)).toMatchObject({ kind: 'timeout', code: 'GH2105', retryable: false });
    const mute = await run({ pieces: [], latencyMs: 5_000 }, short({ firstTokenMs: () => 120 }));
    expect(failureOf(mute.events).message).toContain('first token');
  });

  test('F27 a stream that falls silent or sends only keep-alive comments ends by the idle limit and closes its socket', async () => {
    const silent = await run(stream([chunk({ content: 'a' })], { end: 'hang' }), short({ idleMs: 120 }));
    expect(failureOf(silent.events).message).toContain('next chunk');
    const kept = [chunk({ content: 'a' }), ...Array(200).fill(': still here\n\n')];
    const comments = await run(stream(kept, { gapMs: 10, end: 'hang' }), short({ idleMs: 120 }));
    expect(failureOf(comments.events)).toMatchObject({ kind: 'timeout' });
  });

  test('F27 an endless answer ends by the total limit', async () => {
    const pieces = Array.from({ length: 500 }, (_, index) => chunk({ content: `${index} ` }));
    const { events } = await run(stream(pieces, { gapMs: 10, end: 'hang' }), short({ totalMs: 250 }));
    expect(failureOf(events).message).toContain('whole answer');
  });

  test('the time a consumer takes for an event is not held against the provider', async () => {
    await using server = await startModelServer({ script: () => stream(textPieces('a', 'b'), { gapMs: 5 }) });
    const events: ModelEvent[] = [];
    for await (const event of chat(server.url, short({ idleMs: 150 })).call(modelRequest('hi'), new AbortController().signal)) {
      events.push(event);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(events.at(-1)?.type).toBe('done');
  });

  test('a host that does not accept the connection ends by the connect limit', async () => {
    // A listener whose thread sleeps and whose backlog is full: the kernel drops every further SYN.
    const worker = new Worker(
      `const net = require('node:net'); const { parentPort } = require('node:worker_threads');
       const server = net.createServer(); server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
         parentPort.postMessage(server.address().port);
         setTimeout(() => {
           parentPort.postMessage('asleep');
           Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000);
         }, 20);
       });`,
      { eval: true },
    );
    const told: unknown[] = [];
    worker.on('message', (message) => told.push(message));
    const { connect } = await import('node:net');
    await until('its thread sleeps', () => told.at(-1) === 'asleep');
    const port = Number(told[0]);
    const fillers = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await new Promise((resolve) => setTimeout(resolve, 100));
    try {
      const model = chat(`http://127.0.0.1:${port}`, short({ connectMs: 300, totalMs: 9_000 }));
      const failure = failureOf(await collect(model.call(modelRequest('hi'), new AbortController().signal)));
      expect(failure).toMatchObject({ kind: 'network', hint: expect.stringContaining('no connection in time') });
    } finally {
      for (const socket of fillers) socket.destroy();
      await worker.terminate();
    }
  });

  test('an abort closes the socket', async () => {
    await using server = await startModelServer({ script: () => stream([chunk({ content: 'a' })], { end: 'hang' }) });
    const stop = new AbortController();
    for await (const event of chat(server.url).call(modelRequest('hi'), stop.signal)) if (event.type === 'text') stop.abort();
    await until('the server saw it', () => server.requests[0]?.cut);
  });
});

describe('A29 secrets', () => {
  const forms = [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString('base64'), KEY.slice(0, 16), `${KEY.slice(3, 14)}…`];

  test.each([400, 401, 403, 429, 500])('a status %i whose body quotes the key leaks none of it', async (status) => {
    for (const form of forms) {
      const failure = failureOf((await run(errorReply(status, { message: `key ${form} was refused`, code: form }))).events);
      expect(JSON.stringify(failure)).not.toContain('canary');
      expect(JSON.stringify(failure)).not.toContain(Buffer.from(KEY).toString('base64').slice(0, 12));
    }
  });

  test('an error in the middle of a stream, and one that is no object, leak none of it', async () => {
    const middle = await run(stream([sse({ error: { message: `bad ${KEY}` } })]));
    expect(JSON.stringify(middle.events)).not.toContain('canary');
    const plain = await run({ status: 500, headers: { 'content-type': 'text/plain' }, pieces: [`Bearer ${KEY}`] });
    expect(JSON.stringify(plain.events)).not.toContain('canary');
  });
});

test.each(['moonshotai/kimi-k3', '~moonshotai/kimi-latest'])(
  '%s behind OpenRouter takes calls of another model and of answers without thought',
  async (model) => {
    await using server = await startStrictServer(openrouter, () => ({ text: 'done' }));
    const kimi = { provider: 'openrouter', model, baseUrl: server.baseUrl };
    const at = { timestamp: '2026-01-01T00:00:00Z' };
    const call = { id: 'call_1', name: 'f', arguments: '{}' };
    const messages: ModelRequest['messages'] = [
      { id: 'u', role: 'user', content: 'go', ...at },
      { id: 'a', role: 'assistant', content: '', tool_calls: [call], ...at },
      { id: 't', role: 'tool', content: 'ok', tool_call_id: 'call_1', ...at },
      { id: 'v', role: 'user', content: 'on', ...at },
    ];
    const request = modelRequest('on', { messages });
    const events = await collect(chat('', kimi).call(request, new AbortController().signal));
    expect([server.refusals.map(({ refusal }) => refusal.body), events.at(-1)]).toMatchObject([[], { type: 'done' }]);
  },
);
