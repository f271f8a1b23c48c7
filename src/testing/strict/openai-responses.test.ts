import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { RETIRED_OPENAI } from './responses-models.ts';
import { type Body, HI, OUTPUT, outcome, post, start } from './responses-requests.ts';
import { responsesTrouble } from './responses-shapes.ts';
import type { StrictServer, Turn } from './strict-server.ts';

it('refuses a wrong key, a model that is gone or never was, and an input that is too long', async () => {
  const options = { apiKey: 'k', retired: RETIRED_OPENAI, models: ['gpt-6-luna', 'gpt-4'], contextWindow: 1_000 };
  await using server = await start(undefined, options);
  expect(await outcome(await post(server, {}, 'sk-wrong'))).toMatchObject([401, { code: 'invalid_api_key' }]);
  const gone = 'The model `gpt-4` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations';
  expect(await outcome(await post(server, { model: 'gpt-4' }))).toMatchObject([404, { message: gone, code: 'model_not_found' }]);
  const never = 'The model `gpt-7` does not exist or you do not have access to it.';
  expect(await outcome(await post(server, { model: 'gpt-7' }))).toMatchObject([404, { message: never, code: 'model_not_found' }]);
  const long = await outcome(await post(server, { instructions: 'x'.repeat(8_000) }));
  expect(long).toMatchObject([400, { code: 'context_length_exceeded', param: 'input' }]);
  expect(await outcome(await post(server, {}))).toEqual([200]);
});

it('orders a refusal that the account or the moment is the reason for', async () => {
  const orders = [
    responsesTrouble.rateLimit(7),
    responsesTrouble.noCredit(),
    responsesTrouble.server(),
    responsesTrouble.overloaded(),
  ];
  await using server = await start((_request, nth) => orders[nth] ?? { text: 'ok' });
  const limited = await post(server, {});
  expect(limited.headers.get('retry-after')).toBe('7');
  expect(await outcome(limited)).toMatchObject([429, { code: 'rate_limit_exceeded' }]);
  expect(await outcome(await post(server, {}))).toMatchObject([429, { code: 'insufficient_quota' }]);
  expect((await outcome(await post(server, {})))[0]).toBe(500);
  expect((await outcome(await post(server, {})))[0]).toBe(503);
});

const TURN: Turn = { text: 'Looking.', reasoning: 'I look first.', calls: [{ name: 'look', args: { where: 'here' } }] };

/** What the official client makes of one answer. */
async function answer(server: StrictServer, body: Body = {}): Promise<OpenAI.Responses.Response> {
  const client = new OpenAI({ apiKey: 'k', baseURL: server.baseUrl, maxRetries: 0, logLevel: 'off' });
  const stream = client.responses.stream({ model: 'gpt-6-luna', store: false, input: 'hi', ...body } as never);
  return stream.finalResponse();
}

type Items = Record<string, unknown>[];

it('streams reasoning, text and calls that the official client reads, and takes the items back as they were', async () => {
  await using server = await start((_request, nth) => (nth === 0 ? TURN : { text: 'Done.' }));
  const { output, usage } = await answer(server, { reasoning: { summary: 'auto' } });
  expect(output).toMatchObject([
    {
      type: 'reasoning',
      id: expect.stringMatching(/^rs_/),
      summary: [{ text: 'I look first.' }],
      encrypted_content: expect.stringMatching(/^gAAA.*==$/),
    },
    { type: 'message', phase: 'commentary', content: [{ type: 'output_text', text: 'Looking.' }] },
    { type: 'function_call', id: expect.stringMatching(/^fc_/), name: 'look', arguments: '{"where":"here"}' },
  ]);
  expect(usage?.output_tokens_details.reasoning_tokens).toBe(4);
  const callId = (output[2] as unknown as { call_id: string }).call_id;
  const input = [HI, ...output, { ...OUTPUT, call_id: callId }];
  expect(await outcome(await post(server, { input }))).toEqual([200]);
  expect(server.counts).toEqual({});
});

it('holds items with ids to their reasoning, and counts what is lost where ids are left out', async () => {
  await using server = await start(() => TURN);
  const output = (await answer(server)).output as unknown as Items;
  const [reasoning, message, call] = output as [Items[0], Items[0], Items[0]];
  const end = { ...OUTPUT, call_id: call?.['call_id'] };
  const send = async (...items: (object | undefined)[]) => outcome(await post(server, { input: [HI, ...items, end] }));
  const without = (item: Items[0], ...keys: string[]) =>
    Object.fromEntries(Object.entries(item ?? {}).filter(([key]) => !keys.includes(key)));
  expect(await send(reasoning, HI, message, call)).toMatchObject([
    400,
    {
      message: `Item '${reasoning?.['id']}' of type 'reasoning' was provided without its required following item.`,
      param: 'input',
    },
  ]);
  expect(await send(message, call)).toMatchObject([
    400,
    {
      message: `Item '${message?.['id']}' of type 'message' was provided without its required 'reasoning' item: '${reasoning?.['id']}'.`,
    },
  ]);
  expect(await send(without(reasoning, 'encrypted_content'), message, call)).toMatchObject([
    404,
    {
      message: expect.stringMatching(/^Item with id 'rs_.*' not found\. Items are not persisted when `store` is set to false\./),
    },
  ]);
  expect(await send({ ...reasoning, id: 'rs_other' }, message, call)).toMatchObject([400, { code: 'invalid_encrypted_content' }]);
  expect(server.counts).toEqual({});
  expect(await send(without(reasoning, 'id'), without(message, 'id', 'phase'), without(call, 'id'))).toEqual([200]);
  expect(server.counts).toEqual({ droppedPhase: 1 });
  expect(await send(without(message, 'id'), { ...without(call, 'id'), arguments: '{}' })).toEqual([200]);
  expect(server.counts).toEqual({ droppedPhase: 1, missingReasoning: 1, changedItems: 1 });
});

it('refuses reasoning of another model', async () => {
  await using server = await start(() => TURN);
  const [reasoning, , call] = (await answer(server)).output as unknown as [Items[0], Items[0], Items[0]];
  const input = [HI, reasoning, call, { ...OUTPUT, call_id: call?.['call_id'] }];
  expect(await outcome(await post(server, { model: 'gpt-6-sol', input }))).toMatchObject([
    400,
    { code: 'invalid_encrypted_content' },
  ]);
});

it('ends as the script says: cut, filtered, refused, broken off', async () => {
  const turns: Turn[] = [
    { calls: [{ name: 'look', args: { where: 'yard' } }], stop: 'length' },
    { text: 'No', stop: 'filtered' },
    { text: 'I cannot.', stop: 'refusal' },
    { text: 'Half', error: { status: 500, message: 'broken' } },
  ];
  await using server = await start((_request, nth) => turns[nth] ?? {});
  const texts: string[] = [];
  for (const _ of turns) texts.push(await (await post(server, {})).text());
  expect(texts[0]).toContain('"incomplete_details":{"reason":"max_output_tokens"}');
  expect(texts[0]).not.toMatch(/yard|function_call_arguments\.done/);
  expect(texts[1]).toContain('"incomplete_details":{"reason":"content_filter"}');
  expect(texts[2]).toContain('"type":"response.refusal.delta"');
  expect(texts[3]).toMatch(/event: response\.failed\n.*"code":"server_error","message":"broken"/);
});

it('caches prompts by itself, reports what it wrote from gpt-5.6 on, and counts requests that may be kept', async () => {
  await using server = await start();
  const body = { instructions: 'x'.repeat(8_000) };
  const first = (await answer(server, body)).usage?.input_tokens_details;
  expect(first).toMatchObject({ cached_tokens: 0, cache_write_tokens: expect.any(Number) });
  const second = (await answer(server, body)).usage?.input_tokens_details;
  expect(second?.cached_tokens).toBeGreaterThan(1_900);
  const old = (await answer(server, { ...body, model: 'gpt-5.4' })).usage?.input_tokens_details;
  expect(old).toMatchObject({ cached_tokens: 0, cache_write_tokens: 0 });
  expect(server.counts).toEqual({});
  await (await post(server, { store: undefined })).text();
  expect(server.counts).toEqual({ stored: 1 });
});

it('says that it is in progress while it is silent', async () => {
  await using server = await start(() => ({ text: 'ok', silentMs: 1, signsOfLife: true }));
  const text = await (await post(server, {})).text();
  expect(text).toMatch(/^event: response\.in_progress\n/);
});
