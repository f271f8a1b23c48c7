import OpenAI from 'openai';
import { expect, it, test } from 'vitest';
import { openAiResponses } from './openai-responses.ts';
import { RETIRED_OPENAI } from './responses-models.ts';
import { responsesTrouble } from './responses-shapes.ts';
import { type Script, type StrictServer, type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';

type Body = Readonly<Record<string, unknown>>;

const HI = { role: 'user', content: 'hi' };
const CALL = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' };
const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'seen' };
const TOOL = {
  type: 'function',
  name: 'look',
  parameters: { type: 'object', properties: { where: { type: 'string' } } },
  strict: false,
};
const LONG = `call_${'x'.repeat(70)}`;

async function start(script: Script = () => ({ text: 'ok' }), options: StrictServerOptions = {}): Promise<StrictServer> {
  return startStrictServer(openAiResponses, script, options);
}

async function post(server: StrictServer, body: Body, key = 'k'): Promise<Response> {
  return fetch(`${server.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'gpt-6-luna', store: false, stream: true, input: [HI], ...body }),
  });
}

interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

async function outcome(response: Response): Promise<readonly [number, ErrorBody?]> {
  const text = await response.text();
  return response.status === 200 ? [200] : [response.status, (JSON.parse(text) as { error: ErrorBody }).error];
}

/** Body, the refusal's message, param and code, and the same body made right. */
const RULES: readonly (readonly [string, Body, string, string | null, string | null, Body])[] = [
  [
    'max_output_tokens is below 16',
    { max_output_tokens: 10 },
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.",
    'max_output_tokens',
    'integer_below_min_value',
    { max_output_tokens: 16 },
  ],
  [
    'max_output_tokens is above the bound',
    { max_output_tokens: 200_000 },
    "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 200000 instead.",
    'max_output_tokens',
    'integer_above_max_value',
    { max_output_tokens: 128_000 },
  ],
  [
    'gpt-6-astra is given minimal',
    { model: 'gpt-6-astra', reasoning: { effort: 'minimal' } },
    "Unsupported value: 'minimal' is not supported with the 'gpt-6-astra' model. Supported values are: 'low', 'medium', 'high', 'xhigh', and 'max'.",
    'reasoning.effort',
    'unsupported_value',
    { model: 'gpt-6-astra', reasoning: { effort: 'max' } },
  ],
  [
    'gpt-5.5 is given max',
    { model: 'gpt-5.5', reasoning: { effort: 'max' } },
    "Unsupported value: 'max' is not supported with the 'gpt-5.5' model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
    'reasoning.effort',
    'unsupported_value',
    { model: 'gpt-5.5', reasoning: { effort: 'none' } },
  ],
  [
    'gpt-4.1 is asked to reason',
    { model: 'gpt-4.1', reasoning: { summary: 'auto' } },
    "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
    'reasoning.summary',
    'unsupported_parameter',
    { model: 'gpt-4.1' },
  ],
  [
    'a model that reasons is given a temperature',
    { temperature: 0.5 },
    "Unsupported parameter: 'temperature' is not supported with this model.",
    'temperature',
    null,
    { temperature: 0.5, reasoning: { effort: 'none' } },
  ],
  ['a parameter is unknown', { max_tokens: 100 }, "Unknown parameter: 'max_tokens'.", 'max_tokens', 'unknown_parameter', {}],
  [
    'there is no input',
    { input: undefined },
    "Missing required parameter: 'input'.",
    'input',
    'missing_required_parameter',
    { input: 'hi' },
  ],
  [
    'an earlier response is referred to',
    { previous_response_id: 'resp_1' },
    "Previous response with id 'resp_1' not found.",
    'previous_response_id',
    'previous_response_not_found',
    {},
  ],
  [
    'a strict function has an open schema',
    { tools: [{ ...TOOL, strict: true }] },
    "Invalid schema for function 'look': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    'tools[0].parameters',
    'invalid_function_parameters',
    { tools: [TOOL] },
  ],
  [
    'a call has no output',
    { input: [HI, CALL] },
    'No tool output found for function call call_1.',
    'input',
    null,
    { input: [HI, CALL, OUTPUT] },
  ],
  [
    'an output has no call',
    { input: [HI, OUTPUT] },
    'No tool call found for function call output with call_id call_1.',
    'input',
    null,
    { input: [HI, CALL, OUTPUT] },
  ],
  [
    'a call id is longer than 64 characters',
    { input: [HI, { ...CALL, call_id: LONG }, { ...OUTPUT, call_id: LONG }] },
    "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 75 instead.",
    'input[1].call_id',
    'string_above_max_length',
    { input: [HI, { ...CALL, call_id: LONG.slice(0, 64) }, { ...OUTPUT, call_id: LONG.slice(0, 64) }] },
  ],
  [
    'the id of a call item does not begin with fc',
    { input: [HI, { ...CALL, id: 'call_1' }, OUTPUT] },
    "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
    'input[1].id',
    'invalid_value',
    { input: [HI, { ...CALL, id: 'fc_1' }, OUTPUT] },
  ],
  [
    'the id of a message does not begin with msg',
    { input: [HI, { type: 'message', role: 'assistant', id: 'item_1', content: 'hello' }, HI] },
    "Invalid 'input[1].id': 'item_1'. Expected an ID that begins with 'msg'.",
    'input[1].id',
    'invalid_value',
    { input: [HI, { type: 'message', role: 'assistant', id: 'msg_1', content: 'hello' }, HI] },
  ],
  [
    'an id has other characters',
    { input: [HI, { ...CALL, id: 'fc_1|2' }, OUTPUT] },
    "Invalid 'input[1].id': 'fc_1|2'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.",
    'input[1].id',
    'invalid_value',
    { input: [HI, { ...CALL, id: 'fc_1-2' }, OUTPUT] },
  ],
  [
    'two items have one id',
    { input: [HI, { ...CALL, id: 'fc_1' }, { ...CALL, id: 'fc_1' }, OUTPUT] },
    'Duplicate item found with id fc_1. Remove duplicate items from your input and try again.',
    'input',
    null,
    { input: [HI, { ...CALL, id: 'fc_1' }, OUTPUT] },
  ],
  [
    'the name of a call has other characters',
    { input: [HI, { ...CALL, name: 'look.here' }, OUTPUT] },
    "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    'input[1].name',
    'invalid_value',
    { input: [HI, CALL, OUTPUT] },
  ],
  [
    'the assistant has the part of a user',
    { input: [HI, { role: 'assistant', content: [{ type: 'input_text', text: 'hello' }] }, HI] },
    "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    'input[1].content[0].type',
    'invalid_value',
    { input: [HI, { role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] }, HI] },
  ],
  [
    'a picture is no data URL',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'AAAA' }] }] },
    "Invalid 'input[0].content[0].image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value that is none.",
    'input[0].content[0].image_url',
    'invalid_value',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] }] },
  ],
  [
    'a phase is unknown',
    { input: [HI, { role: 'assistant', content: 'hello', phase: 'last' }, HI] },
    "Invalid value: 'last'. Supported values are: 'commentary' and 'final_answer'.",
    'input[1].phase',
    'invalid_value',
    { input: [HI, { role: 'assistant', content: 'hello', phase: 'final_answer' }, HI] },
  ],
  [
    'reasoning has content of another account',
    { input: [HI, { type: 'reasoning', summary: [], encrypted_content: 'gAAAother==' }, CALL, OUTPUT] },
    'The encrypted content gAAA...er== could not be verified.',
    null,
    'invalid_encrypted_content',
    { input: [HI, CALL, OUTPUT] },
  ],
];

test.each(RULES)('it is refused that %s', async (_name, wrong, message, param, code, right) => {
  await using server = await start();
  expect(await outcome(await post(server, wrong))).toEqual([400, { message, type: 'invalid_request_error', param, code }]);
  expect(await outcome(await post(server, right))).toEqual([200]);
  expect(server.refusals).toHaveLength(1);
});

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
