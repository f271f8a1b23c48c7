// What is billed of a call that failed or was not counted to its end: the provider's own count wherever it
// told one, before the end or with it.
import { expect, test } from 'vitest';
import type { ModelFailure, Usage } from '../../core/model.ts';
import { type Reply, sse, startModelServer, stream } from '../../testing/model-server.ts';
import { SteadyClock } from '../../testing/steady-clock.ts';
import { collect, modelRequest } from '../contract.ts';
import { createAnthropic } from './anthropic.ts';
import { anthropicEnd, anthropicStart, anthropicText } from './anthropic-contract.ts';
import { createGemini } from './gemini.ts';
import type { WireOptions } from './wire.ts';
import { wireOptions } from './wire-contract.ts';

async function failureOf(create: typeof createAnthropic, reply: Reply, request = modelRequest('hello')): Promise<ModelFailure> {
  await using server = await startModelServer({ script: () => reply });
  const options: WireOptions = {
    ...{ provider: 'test', model: 'm', baseUrl: server.url, apiKey: 'k', contextWindow: 32_000, clock: new SteadyClock() },
    timeouts: { connectMs: 5_000, totalMs: 5_000 },
  };
  const last = (await collect(create(options).call(request, new AbortController().signal))).at(-1);
  if (last?.type !== 'failed') throw new Error(`the call ended with ${last?.type}`);
  return last.failure;
}

const INPUT = { input_tokens: 700, cache_read_input_tokens: 200, cache_creation_input_tokens: 100, output_tokens: 1 };
const READ: Omit<Usage, 'tokensOut'> = { tokensIn: 1_000, tokensCached: 200, tokensCacheWrite: 100 };
const TEXT = 'word '.repeat(40);

test('Anthropic: a stream that is cut has the input as it was counted at its start, and what was written by our count', async () => {
  for (const end of ['close', 'destroy'] as const) {
    const failure = await failureOf(createAnthropic, stream([anthropicStart(INPUT), anthropicText(TEXT)], { end }));
    expect(failure).toMatchObject({ kind: 'malformed', usage: { ...READ, tokensOut: 50 } });
  }
});

test('Anthropic: a refusal has the count that came with it', async () => {
  const pieces = [anthropicStart(INPUT), anthropicText(TEXT), anthropicEnd('refusal', { output_tokens: 77 })];
  const failure = await failureOf(createAnthropic, stream(pieces));
  expect(failure).toMatchObject({ kind: 'content-filter', usage: { ...READ, tokensOut: 77 } });
});

test('Anthropic: an answer whose end brings no count, or zero, is counted by us and not by the first piece of it', async () => {
  for (const usage of [{}, { input_tokens: 7, output_tokens: 0 }]) {
    const pieces = [anthropicStart(INPUT), anthropicText(TEXT), anthropicEnd('end_turn', usage)];
    await using server = await startModelServer({ script: () => stream(pieces) });
    const model = createAnthropic(wireOptions(server.url));
    const last = (await collect(model.call(modelRequest('hello'), new AbortController().signal))).at(-1);
    expect(last).toMatchObject({ type: 'done', answer: { usage: { tokensOut: 50 } } });
  }
});

function geminiChunk(finishReason: string | undefined, candidatesTokenCount: number | undefined): string {
  const usageMetadata = { promptTokenCount: 900, ...(candidatesTokenCount === undefined ? {} : { candidatesTokenCount }) };
  const candidate = {
    content: { role: 'model', parts: [{ text: TEXT }] },
    ...(finishReason === undefined ? {} : { finishReason }),
  };
  return sse({ candidates: [candidate], usageMetadata });
}

test('Gemini: a withheld answer has the count of its last chunk; a blocked prompt has that of its input', async () => {
  const withheld = await failureOf(createGemini, stream([geminiChunk(undefined, undefined), geminiChunk('SAFETY', 77)]));
  expect(withheld).toMatchObject({ kind: 'content-filter', usage: { tokensIn: 900, tokensOut: 77 } });
  const blocked = sse({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 900 } });
  expect(await failureOf(createGemini, stream([blocked]))).toMatchObject({
    kind: 'content-filter',
    usage: { tokensIn: 900, tokensOut: 0 },
  });
});

test('Gemini: a stream that is cut counts what was written where its chunks do not yet', async () => {
  const failure = await failureOf(createGemini, stream([geminiChunk(undefined, undefined)]));
  expect(failure).toMatchObject({ kind: 'malformed', usage: { tokensIn: 900, tokensOut: 50 } });
});

test('pictures are input of a call that broke off', async () => {
  const request = modelRequest('look');
  const images = new Map([[request.messages[0]?.id ?? '', [{ mime: 'image/png', base64: 'AAAA' } as const]]]);
  const cut = stream([anthropicText(TEXT)], { end: 'destroy' });
  const tokensIn = async (of: typeof request): Promise<number> =>
    (await failureOf(createAnthropic, cut, of)).usage?.tokensIn ?? 0;
  expect((await tokensIn({ ...request, images })) - (await tokensIn(request))).toBe(4_800);
});
