import { expect, test } from 'vitest';
import {
  type Body,
  CALL,
  config,
  HI,
  MODEL,
  model,
  outcome,
  post,
  RESPONSE,
  start,
  thinking,
  tool,
  UNSIGNED,
  user,
  WHERE,
} from './gemini-requests.ts';

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
