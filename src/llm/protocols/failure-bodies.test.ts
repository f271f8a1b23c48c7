/**
 * Error answers as providers document them, through the real wires: what they are taken for, who is told, and
 * how often they are asked.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { FailureKind, ModelFailure } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { modelRefused } from '../../operator/notices.ts';
import { type Reply, sse, startModelServer } from '../../testing/model-server.ts';
import { collect, modelRequest } from '../contract.ts';
import { createFailure } from '../failure.ts';
import { failureText } from '../failure-text.ts';
import { withRetry } from '../retry.ts';
import { createAnthropic } from './anthropic.ts';
import { createGemini } from './gemini.ts';
import { failureOfErrorObject } from './http-failure.ts';
import { createOpenAiChat } from './openai-chat.ts';
import { createOpenAiResponses } from './openai-responses.ts';
import type { WarmableModel, WireOptions } from './wire.ts';
import { failureOf, wireOptions } from './wire-contract.ts';

interface ErrorAnswer {
  readonly provider: string;
  readonly wire: keyof typeof WIRES;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** In the middle of a stream that began with status 200. */
  readonly stream?: true;
  /** Where it was read. */
  readonly source: string;
  /** The source gives status and meaning; the words of the body are ours. */
  readonly inferred?: true;
  /** What the body comes from, where it does not say. */
  readonly note?: string;
  readonly kind: FailureKind;
  readonly reader: 'user' | 'owner' | 'log';
  readonly retried: boolean;
  /** Where the wire itself knows a remedy and sends once more. */
  readonly calls?: number;
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  readonly retryAfterMs?: number;
  /** The operator's log holds these words. */
  readonly says?: string;
}

const WIRES = {
  'openai-chat': (options: WireOptions) => createOpenAiChat({ ...options, baseUrl: `${options.baseUrl}/v1` }),
  'openai-responses': (options: WireOptions) => createOpenAiResponses({ ...options, baseUrl: `${options.baseUrl}/v1` }),
  anthropic: createAnthropic,
  gemini: (options: WireOptions) => createGemini({ ...options, baseUrl: `${options.baseUrl}/v1beta` }),
} satisfies Record<string, (options: WireOptions) => WarmableModel>;

const ANSWERS = JSON.parse(
  readFileSync(new URL('fixtures/failure-bodies.json', import.meta.url), 'utf8'),
) as readonly ErrorAnswer[];
const PROVIDERS =
  'openai anthropic gemini deepseek moonshot mistral xai groq openrouter dashscope zhipu zai minimax together fireworks cerebras azure bedrock vertex ollama llama.cpp lmstudio';

/** Sleeps take no time. */
function hurriedClock(): Clock {
  let now = Date.UTC(2026, 10, 22);
  return {
    now: () => now,
    monotonic: () => now,
    sleep: async (ms) => {
      now += ms;
    },
  };
}

function replyOf({ status, body, headers, stream }: ErrorAnswer): Reply {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = stream ? 'text/event-stream' : typeof body === 'string' ? 'text/plain' : 'application/json';
  return { status, headers: { 'content-type': type, ...headers }, pieces: text === '' ? [] : [stream ? sse(text) : text] };
}

async function ask(answer: ErrorAnswer): Promise<{ failure: ModelFailure; calls: number }> {
  await using server = await startModelServer({ script: () => replyOf(answer) });
  const wire = WIRES[answer.wire](wireOptions(server.url, { provider: answer.provider }));
  const model = withRetry(wire, { clock: hurriedClock(), random: () => 0 });
  const failure = failureOf(await collect(model.call(modelRequest('hi'), new AbortController().signal)));
  return { failure, calls: server.requests.length };
}

const nameOf = ({ provider, wire, status, kind, body }: ErrorAnswer): string =>
  `${provider} ${wire} ${status} is ${kind}: ${JSON.stringify(body).slice(0, 60)}`;

describe('documented error answers (M9, M13)', () => {
  test.each(ANSWERS.map((answer) => [nameOf(answer), answer] as const))('%s', async (_name, answer) => {
    const { failure, calls } = await ask(answer);
    const { contextWindow, maxOutputTokens, retryAfterMs } = answer;
    expect(failure).toMatchObject({ kind: answer.kind, code: createFailure(answer.kind, { message: '' }).code });
    expect({ ...answer, ...pick(failure) }).toMatchObject({ contextWindow, maxOutputTokens, retryAfterMs });
    // The chat gets the sentence of the kind, and nothing of the body.
    const { message: _message, hint: _hint, ...rest } = failure;
    expect(failureText(failure)).toBe(failureText({ ...rest, message: '', hint: '' }));
    expect(failureText(failure)).toContain(`(${failure.code})`);
    // Only the owner can renew a key, pay, or choose another model or address. What the person who asked can
    // mend is said in the chat; of anything else the chat says that the operator has the details, in the log.
    const told = modelRefused(`${answer.provider}/m`, failure) !== undefined ? 'owner' : toldInChat(failure);
    expect(told).toBe(answer.reader);
    // One try and three repetitions where it may pass, one where the provider named a limit that it would
    // take, else none.
    expect(calls).toBe(expectedCalls(answer));
    if (answer.says !== undefined) expect(failure.message).toContain(answer.says);
  });

  function toldInChat(failure: ModelFailure): ErrorAnswer['reader'] {
    const text = failureText(failure);
    const remedy = /please ask|start afresh/i.test(text);
    expect({ text, operator: /operator/.test(text) }).toEqual({ text, operator: !remedy });
    return remedy ? 'user' : 'log';
  }

  function pick({ contextWindow, maxOutputTokens, retryAfterMs }: ModelFailure): Partial<ModelFailure> {
    return { contextWindow, maxOutputTokens, retryAfterMs } as Partial<ModelFailure>;
  }

  function expectedCalls({ calls, retried, maxOutputTokens, retryAfterMs = 0 }: ErrorAnswer): number {
    if (calls !== undefined || maxOutputTokens !== undefined) return calls ?? 2;
    return retried && retryAfterMs <= 60_000 ? 4 : 1;
  }

  test('every provider and every status is there, each with the address where it was read', () => {
    const providers = new Set(ANSWERS.map(({ provider }) => provider));
    expect([...providers].sort()).toEqual(PROVIDERS.split(' ').sort());
    const statuses = new Set(ANSWERS.map(({ status }) => status));
    for (const status of [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 503, 529]) expect(statuses).toContain(status);
    for (const { source } of ANSWERS) expect(source).toMatch(/^https:\/\//);
    expect(ANSWERS.filter(({ inferred }) => !inferred).length).toBeGreaterThanOrEqual(60);
  });
});

describe('overflow without a status, in words that no row names', () => {
  const kindOf = (message: string) =>
    failureOfErrorObject({ message }, { provider: 'p', model: 'm', redact: (text) => text, now: 0 }).kind;

  test.each([
    'The conversation exceeds what the model can take: 9000 tokens of context',
    'Your request is too large for the window of this model',
    'messages are longer than the maximum length',
    'Requested tokens (2285) exceed context window of 2048',
  ])('%s', (text) => expect(kindOf(text)).toBe('context-length'));

  test.each([
    ['Throttling error: Too many tokens, please wait before trying again.', 'rate-limit'],
    ['Rate limit: too many input tokens per minute', 'rate-limit'],
    ['429 Too Many Requests: request exceeds rate limit', 'rate-limit'],
    ['request reached organization TPD rate limit, current: 1506556, limit: 1500000', 'rate-limit'],
    ["Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40", 'server'],
    ['messages.0.content.1.image.source.base64: image exceeds 5 MB maximum length', 'server'],
    ['max_tokens must be greater than thinking.budget_tokens', 'server'],
  ] as const)('%s is none', (text, kind) => expect(kindOf(text)).toBe(kind));
});
