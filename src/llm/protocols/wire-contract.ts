/** One suite for all wires: what any call can meet, played by an emulator that we did not write. */
import { expect, test } from 'vitest';
import { runAgent } from '../../agent/run.ts';
import type { Image, ModelAnswer, ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import type { ToolCall } from '../../core/session.ts';
import { agentRun, countingTool, line } from '../../testing/agent-run.ts';
import type { Aimock, AimockFixture } from '../../testing/aimock.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import type { WireMatrix } from '../../testing/wire-matrix.ts';
import { collect, modelRequest, streamedText } from '../contract.ts';
import type { WarmableModel, WireOptions } from './wire.ts';

/** The columns of the matrix. */
export const WIRE_SCENARIOS = [
  'text',
  'stream',
  '3-leg tool loop',
  '3 parallel tools',
  'image',
  'reasoning',
  '400',
  '401',
  '429 + Retry-After',
  '500',
  '529',
  'cut stream',
  'slow first token',
  'silent stream',
  'malformed JSON',
  'empty',
] as const;
export type WireScenario = (typeof WIRE_SCENARIOS)[number];

/** One wire under test. */
export interface WireSubject {
  /** The row of the matrix. */
  readonly name: string;
  /**
   * `options.baseUrl` is an origin alone: add what this wire's base URL holds (`/v1`, `/v1beta`, nothing).
   */
  create(options: WireOptions): WarmableModel;
  /** A model of this wire to the emulator, and one that it lets reason (aimock's `isReasoningModel`). */
  readonly model: string;
  readonly reasoningModel: string;
  /** The pictures of a request body as it left, in order. */
  imagesIn(body: Readonly<Record<string, unknown>>): readonly Image[];
  /** The wire carries arguments as objects, so that they cannot be cut off on their own. */
  readonly argumentsAreObjects?: boolean;
  /** The bytes of a stream as the provider documents them: for faults that the emulator cannot play. */
  readonly raw: RawWire;
}

/** Server-sent events as text; each member is one or more complete events, blank lines included. */
export interface RawWire {
  /** What comes before the first content of an answer; '' where nothing does. */
  readonly open: string;
  /** The `n`th piece of content (from 0), with everything that belongs around it. */
  text(piece: string, n: number): string;
  /** Calls of an answer that says nothing. */
  calls(calls: readonly ToolCall[]): string;
  /** The end of an answer; `tools` = it ends in calls. Reports 7 input and 5 output tokens. */
  close(tools: boolean): string;
  /** The provider's error in the middle of a stream which says that it is overloaded, in these words. */
  overloaded(said: string): string;
  /** A piece of reasoning before any text. */
  thought(piece: string): string;
  /** A whole stream in which the model, or its provider, refuses. */
  readonly refusal: string;
}

const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 5,
  input_tokens: 11,
  output_tokens: 5,
  promptTokenCount: 11,
  candidatesTokenCount: 5,
};
const LONG = `${'word '.repeat(60)}end`;

/** What the emulator must be started with for `wireContract`. */
export const WIRE_FIXTURES: readonly AimockFixture[] = [
  { match: { userMessage: 'say plain' }, response: { content: 'A plain answer.', usage: USAGE } },
  { match: { userMessage: 'say long' }, response: { content: LONG }, latency: 2 },
  {
    match: { userMessage: 'plan my day', hasToolResult: false },
    response: { content: 'Let me look.', toolCalls: [{ name: 'weather', id: 'call_w1', arguments: { city: 'Oslo' } }] },
  },
  {
    match: { toolResultContains: 'Oslo is sunny' },
    response: { toolCalls: [{ name: 'weather', id: 'call_w2', arguments: { city: 'Bergen' } }] },
  },
  { match: { toolResultContains: 'Bergen is sunny' }, response: { content: 'Both are fine.' } },
  {
    match: { userMessage: 'compare three', hasToolResult: false },
    response: {
      toolCalls: ['Rome', 'Lima', 'Kyiv'].map((city) => ({ name: 'weather', id: `call_${city}`, arguments: { city } })),
    },
  },
  { match: { toolResultContains: 'Kyiv is sunny' }, response: { content: 'All three are fine.' } },
  { match: { userMessage: 'see this' }, response: { content: 'A red dot.' } },
  { match: { userMessage: 'think first' }, response: { content: 'Four.', reasoning: 'two and two' } },
  {
    match: { userMessage: 'e400' },
    response: { error: { message: 'no such field', type: 'invalid_request_error' }, status: 400 },
  },
  { match: { userMessage: 'e401' }, response: { error: { message: 'bad key', type: 'authentication_error' }, status: 401 } },
  {
    match: { userMessage: 'e429' },
    response: { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 3 },
  },
  { match: { userMessage: 'e500' }, response: { error: { message: 'oops', type: 'api_error' }, status: 500 } },
  { match: { userMessage: 'e529' }, response: { error: { message: 'busy', type: 'overloaded_error' }, status: 529 } },
  // `latency`: without it no partial text is sent.
  { match: { userMessage: 'cut off' }, response: { content: LONG }, truncateAfterChunks: 9, latency: 5 },
  { match: { userMessage: 'slow start' }, response: { content: 'late' }, streamingProfile: { ttft: 2_000, tps: 10 } },
  {
    match: { userMessage: 'fall silent' },
    response: { content: LONG },
    recordedTimings: { ttftMs: 1, interChunkDelaysMs: [...Array(10).fill(1), 3_000], totalDurationMs: 3_011 },
  },
  { match: { userMessage: 'broken json' }, response: { content: 'never seen' }, chaos: { malformedRate: 1 } },
  { match: { userMessage: 'say nothing' }, response: { content: '' } },
];

/** A PNG of one red pixel. */
export const RED_DOT: Image = {
  mime: 'image/png',
  base64: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
};

/** Options of a wire in tests; override what the test is about. */
export function wireOptions(origin: string, override: Partial<WireOptions> = {}): WireOptions {
  return {
    provider: 'test',
    model: 'test-1',
    baseUrl: origin,
    apiKey: 'sk-canary-7f3a9c51d2e8b604',
    contextWindow: 100_000,
    timeouts: { connectMs: 1_000, totalMs: 5_000 },
    clock: new SteadyClock(),
    ...override,
  };
}

export function answerOf(events: readonly ModelEvent[]): ModelAnswer {
  const last = events.at(-1);
  if (last?.type !== 'done') throw new Error(`expected an answer, got ${JSON.stringify(last)}`);
  return last.answer;
}

export function failureOf(events: readonly ModelEvent[]): ModelFailure {
  const last = events.at(-1);
  if (last?.type !== 'failed') throw new Error(`expected a failure, got ${JSON.stringify(last)}`);
  expect(events.filter((event) => event.type === 'done' || event.type === 'failed')).toHaveLength(1);
  return last.failure;
}

/** `aimock` serves `WIRE_FIXTURES`; every scenario leaves its result in `matrix`. */
export function wireContract(subject: WireSubject, aimock: () => Aimock, matrix: WireMatrix<WireScenario>): void {
  const create = (override: Partial<WireOptions> = {}): WarmableModel =>
    subject.create(wireOptions(aimock().url, { model: subject.model, ...override }));
  const call = async (request: ModelRequest, override: Partial<WireOptions> = {}): Promise<readonly ModelEvent[]> =>
    await collect(create(override).call(request, new AbortController().signal));
  const ask = (text: string, override: Partial<WireOptions> = {}) => call(modelRequest(text), override);

  const scenario = (name: WireScenario, fact: string, run: () => Promise<void>): void => {
    test(`${subject.name}, ${name}: ${fact}`, async () => {
      matrix.set(subject.name, name, 'FAIL');
      await run();
      matrix.set(subject.name, name, 'ok');
    });
  };

  const runWithWeather = async (text: string) => {
    const weather = countingTool({
      name: 'weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      run: async (args) => ({ ok: true, output: `${(args as { city: string }).city} is sunny` }),
    });
    const run = agentRun({ input: line('user', text), model: create(), tools: [weather] });
    return { result: await runAgent(run), asked: weather.contexts.length };
  };

  scenario('text', 'the answer comes with the usage the provider reports', async () => {
    expect(answerOf(await ask('say plain'))).toMatchObject({
      text: 'A plain answer.',
      stop: 'end',
      toolCalls: [],
      usage: { tokensIn: 11, tokensOut: 5, tokensCached: 0 },
      provider: 'test',
      model: subject.model,
    });
  });

  scenario('stream', 'a long answer arrives in several pieces that make up the answer', async () => {
    const events = await ask('say long');
    expect(events.filter((event) => event.type === 'text').length).toBeGreaterThan(5);
    expect(streamedText(events)).toBe(LONG);
    expect(answerOf(events).text).toBe(LONG);
  });

  scenario('3-leg tool loop', 'the agent runs both tools and ends with the answer', async () => {
    const { result, asked } = await runWithWeather('plan my day');
    expect(result).toMatchObject({ outcome: { kind: 'answered', text: 'Both are fine.' }, iterations: 3 });
    expect(asked).toBe(2);
    expect(result.lines.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'Oslo is sunny',
      'Bergen is sunny',
    ]);
  });

  scenario('3 parallel tools', 'three calls stay three, and their results go back in order', async () => {
    const { toolCalls, stop } = answerOf(await ask('compare three'));
    expect(stop).toBe('tools');
    expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(3);
    expect(toolCalls.map((one) => [one.name, JSON.parse(one.arguments)])).toEqual(
      ['Rome', 'Lima', 'Kyiv'].map((city) => ['weather', { city }]),
    );
    const { result, asked } = await runWithWeather('compare three');
    expect(result).toMatchObject({ outcome: { kind: 'answered', text: 'All three are fine.' }, iterations: 2 });
    expect(asked).toBe(3);
  });

  scenario('image', 'a picture reaches a model that sees, and a note one that does not', async () => {
    const bodies: string[] = [];
    const spy: typeof fetch = (input, init) => {
      bodies.push(String(init?.body));
      return fetch(input, init);
    };
    const request = modelRequest('see this', { images: new Map([['u', [RED_DOT, RED_DOT]]]) });
    const facts = { maxOutputTokens: 1_000, vision: true, tools: true, price: null };
    expect(answerOf(await call(request, { fetch: spy, facts })).text).toBe('A red dot.');
    expect(answerOf(await call(request, { fetch: spy, facts: { ...facts, vision: false } })).text).toBe('A red dot.');
    const [seen = '', blind = ''] = bodies;
    expect(subject.imagesIn(JSON.parse(seen))).toEqual([RED_DOT, RED_DOT]);
    expect(subject.imagesIn(JSON.parse(blind))).toEqual([]);
    expect(blind).not.toContain(RED_DOT.base64);
    expect(blind).toMatch(/2 pictures .*cannot see/);
  });

  scenario('reasoning', 'it is kept apart from the text', async () => {
    const events = await ask('think first', { model: subject.reasoningModel });
    expect(answerOf(events)).toMatchObject({ text: 'Four.', reasoning: 'two and two' });
    expect(streamedText(events)).toBe('Four.');
  });

  const fails = (name: WireScenario, text: string, failure: Partial<ModelFailure>): void => {
    scenario(name, `ends as ${failure.kind}`, async () => {
      expect(failureOf(await ask(text))).toMatchObject(failure);
    });
  };
  fails('400', 'e400', { kind: 'bad-request', code: 'GH2106', status: 400, retryable: false });
  fails('401', 'e401', { kind: 'auth', code: 'GH2101', status: 401, retryable: false });
  fails('429 + Retry-After', 'e429', { kind: 'rate-limit', code: 'GH2102', retryAfterMs: 3_000, retryable: true });
  fails('500', 'e500', { kind: 'server', code: 'GH2103', status: 500, retryable: true });
  fails('529', 'e529', { kind: 'overloaded', code: 'GH2103', status: 529, retryable: true });

  scenario('cut stream', 'keeps what was streamed and is worth another try', async () => {
    const events = await ask('cut off');
    expect(streamedText(events)).not.toBe('');
    expect(failureOf(events)).toMatchObject({ kind: 'malformed', code: 'GH2109', retryable: true });
  });

  scenario('slow first token', 'is a timeout for the next provider', async () => {
    const timeouts = { connectMs: 1_000, totalMs: 5_000, firstTokenMs: () => 150 };
    const failure = failureOf(await ask('slow start', { timeouts }));
    expect(failure).toMatchObject({ kind: 'timeout', code: 'GH2105', retryable: false });
    expect(failure.message).toContain('first token');
  });

  scenario('silent stream', 'ends by the limit between two chunks', async () => {
    const timeouts = { connectMs: 1_000, totalMs: 5_000, idleMs: 150 };
    const failure = failureOf(await ask('fall silent', { timeouts }));
    expect(failure).toMatchObject({ kind: 'timeout', code: 'GH2105' });
    expect(failure.message).toMatch(/next chunk|sign of life/);
  });

  scenario('malformed JSON', 'is malformed and worth another try', async () => {
    expect(failureOf(await ask('broken json'))).toMatchObject({ kind: 'malformed', code: 'GH2109', retryable: true });
  });

  scenario('empty', 'is empty and worth another try', async () => {
    expect(failureOf(await ask('say nothing'))).toMatchObject({ kind: 'empty', code: 'GH2108', retryable: true });
  });
}
