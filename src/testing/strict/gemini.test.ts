import { type GenerateContentResponse, GoogleGenAI } from '@google/genai/web';
import { expect, it, test } from 'vitest';
import { type GeminiOptions, geminiWire } from './gemini.ts';
import { RETIRED_GEMINI } from './gemini-models.ts';
import { geminiTrouble } from './gemini-shapes.ts';
import { type Script, type StrictServer, type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';

type Body = Readonly<Record<string, unknown>>;
type Parts = readonly Record<string, unknown>[];

const MODEL = 'gemini-3.8-flash';
const PLACEHOLDER = 'skip_thought_signature_validator';
const user = (...parts: object[]) => ({ role: 'user', parts });
const model = (...parts: object[]) => ({ role: 'model', parts });
const HI = user({ text: 'hi' });
const CALL = { functionCall: { id: 'c1', name: 'look', args: {} }, thoughtSignature: PLACEHOLDER };
const { thoughtSignature: _signature, ...UNSIGNED } = CALL;
const RESPONSE = { functionResponse: { id: 'c1', name: 'look', response: { output: 'seen' } } };

const tool = (parameters?: object, name = 'look') => ({ tools: [{ functionDeclarations: [{ name, parameters }] }] });
const WHERE = { type: 'OBJECT', properties: { where: { type: 'STRING' } } };
const config = (generationConfig: object) => ({ generationConfig });
const thinking = (thinkingConfig: object) => config({ thinkingConfig });

async function start(
  script: Script = () => ({ text: 'ok' }),
  options: StrictServerOptions & GeminiOptions = {},
): Promise<StrictServer> {
  return startStrictServer(geminiWire(options), script, options);
}

async function post(server: StrictServer, body: Body, { name = MODEL, key = 'k', query = '?alt=sse' } = {}): Promise<Response> {
  return fetch(`${server.baseUrl}/models/${name}:streamGenerateContent${query}`, {
    method: 'POST',
    headers: key === '' ? {} : { 'x-goog-api-key': key },
    body: JSON.stringify({ contents: [HI], ...body }),
  });
}

async function outcome(response: Response): Promise<readonly [number, string?, string?]> {
  const text = await response.text();
  if (response.status === 200) return [200];
  const { error } = JSON.parse(text) as { error: { code: number; message: string; status: string } };
  expect(error.code).toBe(response.status);
  return [response.status, error.status, error.message];
}

const COUNT =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
const DECLARATION = 'GenerateContentRequest.tools[0].function_declarations[0]';

/** Body, the refusal's message, the same body made right, and the model. */
const RULES: readonly (readonly [string, Body, string, Body, string?])[] = [
  ['there are no contents', { contents: [] }, '* GenerateContentRequest.contents: contents is not specified\n', {}],
  [
    'a content has no parts',
    { contents: [user()] },
    '* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n',
    {},
  ],
  [
    'a role is unknown',
    { contents: [{ role: 'assistant', parts: [{ text: 'hi' }] }] },
    'Please use a valid role: user, model.',
    {},
  ],
  [
    'a part is empty',
    { contents: [user({ text: '' })] },
    "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field\n",
    {},
  ],
  [
    'the user speaks twice',
    { contents: [HI, HI] },
    'Please ensure that multiturn requests alternate between user and model.',
    { contents: [HI, model({ text: 'ho' }), HI] },
  ],
  [
    'the model speaks first',
    { contents: [model({ text: 'ho' }), HI] },
    'Please ensure that multiturn requests begin with a user turn.',
    { contents: [HI, model({ text: 'ho' }), HI] },
  ],
  [
    'a call comes first',
    { contents: [model(CALL), user(RESPONSE)] },
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    { contents: [HI, model(CALL), user(RESPONSE)] },
  ],
  [
    'the model speaks last',
    { contents: [HI, model({ text: 'ho' })] },
    'Please ensure that multiturn requests end with a user role or a function response.',
    { contents: [HI, model({ text: 'ho' }), HI] },
  ],
  ['a call has no response', { contents: [HI, model(CALL), HI] }, COUNT, { contents: [HI, model(CALL), user(RESPONSE)] }],
  [
    'two calls have one response',
    { contents: [HI, model(CALL, UNSIGNED), user(RESPONSE)] },
    COUNT,
    { contents: [HI, model(CALL, UNSIGNED), user(RESPONSE, RESPONSE)] },
  ],
  [
    'a response has no call',
    { contents: [user(RESPONSE)] },
    'Please ensure that function response turn comes immediately after a function call turn.',
    {},
  ],
  [
    'a response has another name',
    { contents: [HI, model(CALL), user({ functionResponse: { ...RESPONSE.functionResponse, name: 'see' } })] },
    'Please ensure that each function response matches a function call: none was found for look with id c1.',
    { contents: [HI, model(CALL), user(RESPONSE)] },
  ],
  [
    'a response has another id',
    { contents: [HI, model(CALL), user({ functionResponse: { ...RESPONSE.functionResponse, id: 'c2' } })] },
    'Please ensure that each function response matches a function call: none was found for look with id c1.',
    { contents: [HI, model(CALL), user(RESPONSE)] },
  ],
  [
    'a response has no name',
    { contents: [HI, model(CALL), user({ functionResponse: { id: 'c1', response: {} } })] },
    '* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n',
    { contents: [HI, model(CALL), user(RESPONSE)] },
  ],
  [
    'the first call of a step has no signature',
    { contents: [HI, model(UNSIGNED), user(RESPONSE)] },
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:look`, position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
    { contents: [HI, model(UNSIGNED), user(RESPONSE), model({ text: 'done' }), HI] },
  ],
  [
    'a signature is of another server',
    { contents: [HI, model({ ...CALL, thoughtSignature: 'EuYBother' }), user(RESPONSE)] },
    'Corrupted thought signature.',
    { contents: [HI, model(CALL), user(RESPONSE)] },
  ],
  [
    'level and budget come together',
    thinking({ thinkingLevel: 'low', thinkingBudget: 512 }),
    'You can only set only one of thinking budget and thinking level.',
    thinking({ thinkingLevel: 'LOW' }),
  ],
  [
    '3.8 Flash is given minimal',
    thinking({ thinkingLevel: 'minimal' }),
    'Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.',
    thinking({ thinkingLevel: 'high' }),
  ],
  [
    '3.8 Flash is given a budget of 0',
    thinking({ thinkingBudget: 0 }),
    'Budget 0 is invalid. This model only works in thinking mode.',
    thinking({ thinkingBudget: -1 }),
  ],
  [
    '2.5 Flash is given a level',
    thinking({ thinkingLevel: 'low' }),
    'Thinking level is not supported for this model.',
    thinking({ thinkingBudget: 0 }),
    'gemini-2.5-flash',
  ],
  [
    '2.5 Pro is given a budget of 0',
    thinking({ thinkingBudget: 0 }),
    'Budget 0 is invalid. This model only works in thinking mode.',
    thinking({ thinkingBudget: 128 }),
    'gemini-2.5-pro',
  ],
  [
    '2.5 Flash is given too large a budget',
    thinking({ thinkingBudget: 32_000 }),
    'The thinking budget 32000 is invalid. Please choose a value between 0 and 24576.',
    thinking({ thinkingBudget: 24_576 }),
    'gemini-2.5-flash',
  ],
  [
    'Argon is given a budget',
    thinking({ thinkingBudget: 512 }),
    'Thinking budget is not supported for this model.',
    thinking({ thinkingLevel: 'low' }),
    'gemini-4-argon',
  ],
  [
    'maxOutputTokens is above the bound',
    config({ maxOutputTokens: 100_000 }),
    'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.',
    config({ maxOutputTokens: 65_536 }),
  ],
  ['a field is unknown', { messages: [] }, 'Invalid JSON payload received. Unknown name "messages": Cannot find field.', {}],
  [
    'a schema has additionalProperties',
    tool({ ...WHERE, additionalProperties: false }),
    `Invalid JSON payload received. Unknown name "additionalProperties" at 'tools[0].function_declarations[0].parameters': Cannot find field.`,
    tool(WHERE),
  ],
  [
    'a property has const',
    tool({ type: 'OBJECT', properties: { a: { type: 'STRING' }, b: { anyOf: [{ const: 'x' }] } } }),
    `Invalid JSON payload received. Unknown name "const" at 'tools[0].function_declarations[0].parameters.properties[1].value.any_of[0]': Cannot find field.`,
    tool({ type: 'OBJECT', properties: { b: { anyOf: [{ type: 'STRING', enum: ['x'] }] } } }),
  ],
  [
    'a type is a list',
    tool({ type: 'OBJECT', properties: { a: { type: ['STRING', 'NULL'] } } }),
    `Invalid JSON payload received. Unknown name "type" at 'tools[0].function_declarations[0].parameters.properties[0].value': Proto field is not repeating, cannot start list.`,
    tool({ type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } }),
  ],
  [
    'an object has no properties',
    tool({ type: 'OBJECT', properties: {} }),
    `* ${DECLARATION}.parameters.properties: should be non-empty for OBJECT type\n`,
    tool(),
  ],
  [
    'an array has no items',
    tool({ type: 'OBJECT', properties: { list: { type: 'ARRAY' } } }),
    `* ${DECLARATION}.parameters.properties[list].items: missing field.\n`,
    tool({ type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } } }),
  ],
  [
    'a number is enumerated',
    tool({ type: 'OBJECT', properties: { a: { type: 'INTEGER', enum: [1, 2] } } }),
    `* ${DECLARATION}.parameters.properties[a].enum: only allowed for STRING type\n`,
    tool({ type: 'OBJECT', properties: { a: { type: 'STRING', enum: ['1', '2'] } } }),
  ],
  [
    'an unknown property is required',
    tool({ ...WHERE, required: ['there'] }),
    `* ${DECLARATION}.parameters.required[0]: property is not defined\n`,
    tool({ ...WHERE, required: ['where'] }),
  ],
  [
    'a text has another format',
    tool({ type: 'OBJECT', properties: { a: { type: 'STRING', format: 'uri' } } }),
    `* ${DECLARATION}.parameters.properties[a].format: only 'enum' and 'date-time' are supported for STRING type\n`,
    tool({ type: 'OBJECT', properties: { a: { type: 'STRING', format: 'date-time' } } }),
  ],
  [
    'a function has a name with other characters',
    tool(WHERE, 'look/here'),
    `* ${DECLARATION}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n`,
    tool(WHERE, 'look_here'),
  ],
  [
    'a picture has no type',
    { contents: [user({ inlineData: { data: 'AAAA' } })] },
    'Unsupported MIME type: ',
    { contents: [user({ inlineData: { mimeType: 'image/png', data: 'AAAA' } })] },
  ],
];

const CASES = RULES.map(([what, wrong, message, right, name = MODEL]) => [what, wrong, message, right, name] as const);

test.each(CASES)('it is refused that %s', async (_what, wrong, message, right, name) => {
  await using server = await start();
  expect(await outcome(await post(server, wrong, { name }))).toEqual([400, 'INVALID_ARGUMENT', message]);
  expect(await outcome(await post(server, right, { name }))).toEqual([200]);
  expect(server.refusals).toHaveLength(1);
});

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
  const chunks = await Array.fromAsync(
    await client(server).models.generateContentStream({ model: name, contents: 'hi', config }),
  );
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
