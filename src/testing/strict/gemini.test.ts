import { type GenerateContentResponse, GoogleGenAI } from '@google/genai/web';
import { expect, it } from 'vitest';
import { RETIRED_GEMINI } from './gemini-models.ts';
import { HI, MODEL, model, outcome, type Parts, PLACEHOLDER, post, start, user } from './gemini-requests.ts';
import { geminiTrouble } from './gemini-shapes.ts';
import type { StrictServer, Turn } from './strict-server.ts';

it('refuses a wrong key with a 400, none with a 403, a model that is gone, and contents that are too long', async () => {
  await using server = await start(undefined, { apiKey: 'k', retired: RETIRED_GEMINI, contextWindow: 1_000 });
  const wrong = await post(server, {}, { key: 'other' });
  expect(await wrong.json()).toMatchObject({
    error: { code: 400, message: 'API key not valid. Please pass a valid API key.', details: [{ reason: 'API_KEY_INVALID' }] },
  });
  expect((await outcome(await post(server, {}, { key: '' }))).slice(0, 2)).toEqual([403, 'PERMISSION_DENIED']);
  expect(await outcome(await post(server, {}, { name: 'gemini-2.0-flash' }))).toEqual([
    404,
    'NOT_FOUND',
    'models/gemini-2.0-flash is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.',
  ]);
  const long = await outcome(await post(server, { contents: [user({ text: 'x'.repeat(8_000) })] }));
  expect(long[2]).toMatch(/^The input token count \(\d{4}\) exceeds the maximum number of tokens allowed \(1000\)\.$/);
  expect(await outcome(await post(server, {}))).toEqual([200]);
});

it('orders a refusal that the account or the moment is the reason for', async () => {
  const orders = [geminiTrouble.rateLimit(34), geminiTrouble.overloaded(), geminiTrouble.server()];
  await using server = await start((_request, nth) => orders[nth] ?? { text: 'ok' });
  const limited = (await (await post(server, {})).json()) as { error: object };
  expect(limited.error).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '34s' }] });
  expect((await outcome(await post(server, {}))).slice(0, 2)).toEqual([503, 'UNAVAILABLE']);
  expect((await outcome(await post(server, {}))).slice(0, 2)).toEqual([500, 'INTERNAL']);
});

const TURN: Turn = {
  text: 'Looking.',
  reasoning: 'I look first.',
  calls: [
    { name: 'look', args: { where: 'here' } },
    { name: 'look', args: { where: 'there' } },
  ],
};

function client(server: StrictServer): GoogleGenAI {
  return new GoogleGenAI({ apiKey: 'k', vertexai: false, httpOptions: { baseUrl: server.baseUrl, apiVersion: '' } });
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** What the official client reads of one streamed answer. */
async function answer(server: StrictServer, name = MODEL): Promise<{ parts: Parts; last: GenerateContentResponse }> {
  const config = { thinkingConfig: { includeThoughts: true }, automaticFunctionCalling: { disable: true } };
  const chunks = await listOf(await client(server).models.generateContentStream({ model: name, contents: 'hi', config }));
  const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []) as unknown as Parts;
  return { parts, last: chunks.at(-1) as GenerateContentResponse };
}

const responses = (parts: Parts) =>
  parts
    .filter(({ functionCall }) => functionCall !== undefined)
    .map(({ functionCall }) => {
      const { id, name } = functionCall as { id: string; name: string };
      return { functionResponse: { id, name, response: { output: 'seen' } } };
    });

it('streams thoughts, text and calls that the official client reads, and takes the parts back as they were', async () => {
  await using server = await start((_request, nth) => (nth === 0 ? TURN : { text: 'Done.' }));
  const { parts, last } = await answer(server);
  expect(parts).toMatchObject([
    { thought: true, text: 'I look first.' },
    { text: 'Look' },
    { text: 'ing.' },
    { functionCall: { name: 'look', args: { where: 'here' } }, thoughtSignature: expect.stringMatching(/^EuYB/) },
    { functionCall: { name: 'look', args: { where: 'there' } } },
  ]);
  expect(parts[4]?.['thoughtSignature']).toBeUndefined();
  expect(last.candidates?.[0]?.finishReason).toBe('STOP');
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, totalTokenCount } = last.usageMetadata ?? {};
  expect(thoughtsTokenCount).toBe(4);
  expect((promptTokenCount ?? 0) + (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0)).toBe(totalTokenCount);
  const contents = [HI, model(...parts), user(...responses(parts))];
  expect(await outcome(await post(server, { contents }))).toEqual([200]);
  expect(server.counts).toEqual({});
});

it('refuses a signature that was moved, changed or made for another model, and counts the placeholder', async () => {
  await using server = await start(() => TURN);
  const { parts } = await answer(server);
  const [first, second] = parts.slice(3) as [Parts[0], Parts[0]];
  const { thoughtSignature, ...unsigned } = first ?? {};
  const send = async (calls: (object | undefined)[], name = MODEL) =>
    outcome(await post(server, { contents: [HI, model(...(calls as object[])), user(...responses(parts))] }, { name }));
  const corrupted = [400, 'INVALID_ARGUMENT', 'Corrupted thought signature.'];
  expect(
    await send([
      { ...first, thoughtSignature: PLACEHOLDER },
      { ...second, thoughtSignature },
    ]),
  ).toEqual(corrupted);
  expect(await send([{ ...first, thoughtSignature: `${String(thoughtSignature)}x` }, second])).toEqual(corrupted);
  expect(await send([first, second], 'gemini-3.7-flash')).toEqual(corrupted);
  expect((await send([unsigned, second]))[2]).toMatch(/^Function call is missing a thought_signature/);
  const before = server.counts['dummySignatures'] ?? 0;
  expect(await send([{ ...first, thoughtSignature: PLACEHOLDER }, second])).toEqual([200]);
  expect(server.counts['dummySignatures']).toBe(before + 1);
  expect(server.counts['lostSignatures']).toBe(before + 1);
  expect(await send([first, second])).toEqual([200]);
});

it('signs an answer without calls in an empty text part, and counts when that is left out', async () => {
  await using server = await start();
  const { parts } = await answer(server);
  const signed = parts.at(-1);
  expect(signed).toMatchObject({ text: '', thoughtSignature: expect.stringMatching(/^EuYB/) });
  expect(await outcome(await post(server, { contents: [HI, model({ text: 'ok' }, signed as object), HI] }))).toEqual([200]);
  expect(server.counts).toEqual({});
  expect(await outcome(await post(server, { contents: [HI, model({ text: 'ok' }), HI] }))).toEqual([200]);
  expect(server.counts).toEqual({ droppedTextSignatures: 1 });
});

it('ends as the script says: cut, filtered, blocked, broken off', async () => {
  const turns: Turn[] = [
    { text: 'Half', calls: [{ name: 'look', args: { where: 'yard' } }], stop: 'length' },
    { text: 'No', stop: 'filtered' },
    { stop: 'refusal' },
    { text: 'Half', error: { status: 503, message: 'The model is overloaded.' } },
    { stop: 'end', finish: 'MALFORMED_FUNCTION_CALL' },
  ];
  await using server = await start((_request, nth) => turns[nth] ?? {});
  const texts: string[] = [];
  for (const _ of turns) texts.push(await (await post(server, {})).text());
  expect(texts[0]).toContain('"finishReason":"MAX_TOKENS"');
  expect(texts[0]).not.toContain('yard');
  expect(texts[1]).toContain('"finishReason":"SAFETY"');
  expect(texts[2]).toContain('"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}');
  expect(texts[2]).not.toContain('candidates"');
  expect(texts[3]).toMatch(/data: {"error":{"code":503,"message":"The model is overloaded\.","status":"UNAVAILABLE"}}\n\n$/);
  expect(texts[4]).toContain('"finishReason":"MALFORMED_FUNCTION_CALL"');
});

it('answers a redirected name with the model that serves it', async () => {
  await using server = await start(undefined, { redirects: { 'gemini-2.5-flash': 'gemini-3.5-flash-lite' } });
  expect((await answer(server, 'gemini-2.5-flash')).last.modelVersion).toBe('gemini-3.5-flash-lite');
  expect((await answer(server)).last.modelVersion).toBe(MODEL);
});

it('answers as events, as a list, or at once', async () => {
  await using server = await start(() => TURN);
  const events = await (await post(server, {})).text();
  expect(events).toMatch(/^data: {/);
  const list = JSON.parse(await (await post(server, {}, { query: '' })).text()) as unknown[];
  expect(list.length).toBe(events.split('data: ').length - 1);
  const whole = await client(server).models.generateContent({
    model: MODEL,
    contents: 'hi',
    config: { automaticFunctionCalling: { disable: true } },
  });
  expect(whole.candidates?.[0]?.content?.parts).toHaveLength(4);
  expect(whole.functionCalls).toHaveLength(2);
});

it('caches prompts by itself from the minimum of the model on', async () => {
  await using server = await start();
  const cached = async (chars: number, name: string) => {
    const body = { systemInstruction: { parts: [{ text: 'x'.repeat(chars) }] } };
    await (await post(server, body, { name })).text();
    return Number(/"cachedContentTokenCount":(\d+)/.exec(await (await post(server, body, { name })).text())?.[1] ?? 0);
  };
  expect(await cached(12_000, MODEL)).toBe(0);
  expect(await cached(12_000, 'gemini-2.5-pro')).toBeGreaterThan(2_900);
  expect(await cached(20_000, MODEL)).toBeGreaterThan(4_900);
});

it('lists its models as Gemini does', async () => {
  await using server = await start(undefined, { models: [MODEL, 'gemini-1'], retired: ['gemini-1'] });
  const page = await client(server).models.list();
  expect((await listOf(page)).map(({ name }) => name)).toEqual([`models/${MODEL}`]);
});
