import Anthropic from '@anthropic-ai/sdk';
import { expect, it, test } from 'vitest';
import { FakeClock } from '../fakes.ts';
import { anthropicWire } from './anthropic.ts';
import { anthropicTrouble } from './anthropic-shapes.ts';
import { RETIRED_CLAUDE } from './claude-models.ts';
import { type Script, type StrictServer, type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';

type Body = Readonly<Record<string, unknown>>;

const HI = { role: 'user', content: 'hi' };
const TOOL = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } };
const USE = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' };
const assistant = (...content: object[]) => ({ role: 'assistant', content });
const user = (...content: object[]) => ({ role: 'user', content });

async function start(script: Script = () => ({ text: 'ok' }), options: StrictServerOptions = {}): Promise<StrictServer> {
  return startStrictServer(anthropicWire(), script, options);
}

async function post(server: StrictServer, body: Body, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.origin}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify({ model: 'claude-opus-5', max_tokens: 1_000, stream: true, messages: [HI], ...body }),
  });
}

/** Status and message of a refusal; 200 and nothing else for an answer. */
async function outcome(response: Response): Promise<readonly [number, string?, string?]> {
  const text = await response.text();
  if (response.status === 200) return [200];
  const { type, error } = JSON.parse(text) as { type: string; error: { type: string; message: string } };
  expect(type).toBe('error');
  return [response.status, error.type, error.message];
}

/** Body, the refusal's message, and the same body made right. */
const RULES: readonly (readonly [string, Body, string, Body])[] = [
  ['max_tokens is missing', { max_tokens: undefined }, 'max_tokens: Field required', {}],
  [
    'max_tokens is above the bound',
    { max_tokens: 9_999_999 },
    'max_tokens: 9999999 > 128000, which is the maximum allowed number of output tokens for claude-opus-5',
    { max_tokens: 128_000 },
  ],
  [
    'max_tokens is above the bound of a smaller model',
    { model: 'claude-haiku-4-5', max_tokens: 64_001 },
    'max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5',
    { model: 'claude-haiku-4-5', max_tokens: 64_000 },
  ],
  [
    'max_tokens is 0 while streaming',
    { max_tokens: 0 },
    'max_tokens: Input should be greater than or equal to 1',
    { max_tokens: 1 },
  ],
  [
    'thinking is turned off on Opus 5.5',
    { model: 'claude-opus-5-5', thinking: { type: 'disabled' } },
    '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    { model: 'claude-opus-5-5', thinking: { type: 'adaptive' } },
  ],
  [
    'a budget is given to Opus 5',
    { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 },
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    { model: 'claude-opus-4-6', thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 },
  ],
  [
    'thinking is turned off on Sonnet 5.5',
    { model: 'claude-sonnet-5-5', thinking: { type: 'disabled' } },
    'To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of {"type": "disabled"}. The model does not think before responding. The short updates it writes between tool calls come back as thinking blocks.',
    { model: 'claude-sonnet-5-5', thinking: { type: 'between_tools' } },
  ],
  [
    'between_tools has a display',
    { model: 'claude-sonnet-5-5', thinking: { type: 'between_tools', display: 'omitted' } },
    'thinking.between_tools.display: Extra inputs are not permitted',
    { model: 'claude-sonnet-5-5', thinking: { type: 'adaptive', display: 'omitted' } },
  ],
  [
    'Haiku 4.5 is asked for adaptive thinking',
    { model: 'claude-haiku-4-5-20251001', thinking: { type: 'adaptive' } },
    'adaptive thinking is not supported on this model',
    { model: 'claude-haiku-4-5-20251001', thinking: { type: 'disabled' } },
  ],
  [
    'a budget is too small',
    { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budget_tokens: 1_000 }, max_tokens: 2_000 },
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 },
  ],
  [
    'a budget leaves no room for an answer',
    { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 2_000 },
    '`max_tokens` must be greater than `thinking.budget_tokens`.',
    { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 2_001 },
  ],
  [
    'block_binding comes without its header',
    { model: 'claude-opus-5-5', thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } } },
    'thinking.adaptive.block_binding: Extra inputs are not permitted',
    { model: 'claude-opus-5-5' },
  ],
  [
    'Haiku 4.5 is given an effort',
    { model: 'claude-haiku-4-5', output_config: { effort: 'low' } },
    'This model does not support the effort parameter.',
    { model: 'claude-haiku-5-5', output_config: { effort: 'low' } },
  ],
  [
    'Opus 4.6 is given xhigh',
    { model: 'claude-opus-4-6', output_config: { effort: 'xhigh' } },
    "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    { model: 'claude-opus-4-6', output_config: { effort: 'max' } },
  ],
  [
    'xhigh comes without thinking',
    { thinking: { type: 'disabled' }, output_config: { effort: 'xhigh' } },
    "output_config.effort 'xhigh' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.",
    { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
  ],
  [
    'Opus 4.7 is given a temperature',
    { model: 'claude-opus-4-7', temperature: 0.5 },
    '`temperature` is deprecated for this model.',
    { model: 'claude-opus-4-6', temperature: 0.5 },
  ],
  [
    'Sonnet 5 is given top_p',
    { model: 'claude-sonnet-5', top_p: 0.5 },
    '`top_p` is deprecated for this model.',
    { model: 'claude-sonnet-5', top_p: 0.99 },
  ],
  [
    'temperature and top_p come together',
    { model: 'claude-haiku-4-5', temperature: 0.5, top_p: 0.9 },
    '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    { model: 'claude-haiku-4-5', temperature: 0.5 },
  ],
  [
    'a tool is forced on Opus 5.5',
    { model: 'claude-opus-5-5', tools: [TOOL], tool_choice: { type: 'any' } },
    'tool_choice: type "tool" and "any" are not supported for this model.',
    { model: 'claude-haiku-5-5', tools: [TOOL], tool_choice: { type: 'any' } },
  ],
  ['two tools have one name', { tools: [TOOL, TOOL] }, 'tools: Tool names must be unique.', { tools: [TOOL] }],
  ['a tool has no schema', { tools: [{ name: 'look' }] }, 'tools.0.custom.input_schema: Field required', { tools: [TOOL] }],
  ['there are no messages', { messages: [] }, 'messages: at least one message is required', {}],
  [
    'the assistant speaks first',
    { messages: [assistant({ type: 'text', text: 'hello' }), HI] },
    'messages: first message must use the "user" role',
    { messages: [HI, assistant({ type: 'text', text: 'hello' }), HI] },
  ],
  [
    'the user speaks twice',
    { messages: [HI, HI] },
    'messages: roles must alternate between "user" and "assistant"',
    { messages: [user({ type: 'text', text: 'hi' }, { type: 'text', text: 'hi' })] },
  ],
  [
    'Opus 4.7 gets a system message',
    { model: 'claude-opus-4-7', messages: [HI, { role: 'system', content: 'Be brief.' }] },
    "role 'system' is not supported on this model",
    { model: 'claude-opus-4-8', messages: [HI, { role: 'system', content: 'Be brief.' }] },
  ],
  [
    'an answer is begun by the client',
    { messages: [HI, assistant({ type: 'text', text: 'I' })] },
    'This model does not support assistant message prefill. The conversation must end with a user message.',
    { model: 'claude-haiku-4-5', messages: [HI, assistant({ type: 'text', text: 'I' })] },
  ],
  [
    'a text is empty',
    { messages: [user({ type: 'text', text: '' })] },
    'messages: text content blocks must be non-empty',
    { messages: [user({ type: 'text', text: '.' })] },
  ],
  [
    'a text is blank',
    { messages: [user({ type: 'text', text: ' \n' })] },
    'messages: text content blocks must contain non-whitespace text',
    { messages: [HI] },
  ],
  [
    'a system text is empty',
    { system: [{ type: 'text', text: '' }] },
    'system: text content blocks must be non-empty',
    { system: '' },
  ],
  [
    'a message is empty',
    { messages: [HI, assistant(), HI] },
    'messages.1: all messages must have non-empty content except for the optional final assistant message',
    { messages: [HI] },
  ],
  [
    'a call has an id with other characters',
    { messages: [HI, assistant({ ...USE, id: 'functions.look:0' }), user({ ...RESULT, tool_use_id: 'functions.look:0' })] },
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    { messages: [HI, assistant(USE), user(RESULT)] },
  ],
  [
    'the input of a call is text',
    { messages: [HI, assistant({ ...USE, input: '{}' }), user(RESULT)] },
    'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
    { messages: [HI, assistant(USE), user(RESULT)] },
  ],
  [
    'a call has no result',
    { messages: [HI, assistant(USE), user({ type: 'text', text: 'well?' })] },
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    { messages: [HI, assistant(USE), user(RESULT, { type: 'text', text: 'well?' })] },
  ],
  [
    'a text stands before the result',
    { messages: [HI, assistant(USE), user({ type: 'text', text: 'well?' }, RESULT)] },
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    { messages: [HI, assistant(USE), user(RESULT)] },
  ],
  [
    'a result has no call',
    { messages: [user(RESULT)] },
    'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    { messages: [HI] },
  ],
  [
    'a call has two results',
    { messages: [HI, assistant(USE), user(RESULT, RESULT)] },
    'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1',
    { messages: [HI, assistant(USE), user(RESULT)] },
  ],
  [
    'two calls have one id',
    { messages: [HI, assistant(USE, USE), user(RESULT)] },
    'messages.1.content.1: `tool_use` ids must be unique',
    { messages: [HI, assistant(USE, { ...USE, id: 'toolu_2' }), user(RESULT, { ...RESULT, tool_use_id: 'toolu_2' })] },
  ],
  [
    'the user calls a tool',
    { messages: [user(USE)] },
    'messages.0.content.0: `tool_use` blocks can only be in `assistant` messages',
    { messages: [HI] },
  ],
  [
    'a picture is of another kind',
    { messages: [user({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } })] },
    "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    { messages: [user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } })] },
  ],
  [
    'a picture in a result is empty',
    {
      messages: [
        HI,
        assistant(USE),
        user({ ...RESULT, content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } }] }),
      ],
    },
    'messages.2.content.0.tool_result.content.0.image.source.base64.data: image cannot be empty',
    {
      messages: [
        HI,
        assistant(USE),
        user({ ...RESULT, content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }] }),
      ],
    },
  ],
  [
    'five blocks are marked for the cache',
    { messages: [user(...Array.from({ length: 5 }, () => ({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } })))] },
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    { messages: [user(...Array.from({ length: 4 }, () => ({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } })))] },
  ],
  [
    'an hour comes after five minutes',
    {
      system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }],
      messages: [user({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } })],
    },
    "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    {
      system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [user({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } })],
    },
  ],
  [
    'a thinking block has no signature',
    { messages: [HI, assistant({ type: 'thinking', thinking: 'hm' }, { type: 'text', text: 'hello' }), HI] },
    'messages.1.content.0.thinking.signature: Field required',
    { messages: [HI, assistant({ type: 'text', text: 'hello' }), HI] },
  ],
  [
    'a thinking block has a signature of another server',
    {
      messages: [HI, assistant({ type: 'thinking', thinking: 'hm', signature: 'RnJlbWQ=' }, { type: 'text', text: 'hello' }), HI],
    },
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    { messages: [HI, assistant({ type: 'text', text: 'hello' }), HI] },
  ],
  [
    'a budget is set and the answer in progress has no thinking',
    {
      model: 'claude-sonnet-4-5',
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      max_tokens: 2_000,
      messages: [HI, assistant(USE), user(RESULT)],
    },
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.',
    { model: 'claude-sonnet-4-5', messages: [HI, assistant(USE), user(RESULT)] },
  ],
];

test.each(RULES)('it is refused that %s', async (_name, wrong, message, right) => {
  await using server = await start();
  expect(await outcome(await post(server, wrong))).toEqual([400, 'invalid_request_error', message]);
  expect(await outcome(await post(server, right))).toEqual([200]);
  expect(server.refusals).toHaveLength(1);
});

it('refuses a wrong key, a missing version, a model that is gone, and a prompt that is too long', async () => {
  const options = { apiKey: 'k', retired: RETIRED_CLAUDE, contextWindow: 1_000 };
  await using server = await start(undefined, options);
  expect(await outcome(await post(server, {}, { 'x-api-key': 'other' }))).toEqual([
    401,
    'authentication_error',
    'invalid x-api-key',
  ]);
  const model = 'claude-sonnet-4-20250514';
  expect(await outcome(await post(server, { model }))).toEqual([404, 'not_found_error', `model: ${model}`]);
  const long = await outcome(await post(server, { system: 'x'.repeat(8_000) }));
  expect(long).toEqual([
    400,
    'invalid_request_error',
    expect.stringMatching(/^prompt is too long: \d{4} tokens > 1000 maximum$/),
  ]);
  const headers = { 'content-type': 'application/json', 'x-api-key': 'k' };
  const plain = await fetch(`${server.origin}/v1/messages`, { method: 'POST', headers, body: '{}' });
  expect(await outcome(plain)).toEqual([400, 'invalid_request_error', 'anthropic-version: header is required']);
  await using narrow = await startStrictServer(anthropicWire({ outputInWindow: true }), () => ({}), { contextWindow: 1_000 });
  const over = await outcome(await post(narrow, { max_tokens: 1_000 }));
  expect(over[2]).toMatch(/^input length and `max_tokens` exceed context limit: \d+ \+ 1000 > 1000, decrease/);
  expect(await outcome(await post(server, {}))).toEqual([200]);
});

it('orders a refusal that the account or the moment is the reason for', async () => {
  const orders = [
    anthropicTrouble.rateLimit(7),
    anthropicTrouble.noCredit(),
    anthropicTrouble.overloaded(),
    anthropicTrouble.server(),
  ];
  await using server = await start((_request, nth) => orders[nth] ?? { text: 'ok' });
  const limited = await post(server, {});
  expect(limited.headers.get('retry-after')).toBe('7');
  expect((await outcome(limited)).slice(0, 2)).toEqual([429, 'rate_limit_error']);
  expect((await outcome(await post(server, {}))).slice(0, 2)).toEqual([400, 'invalid_request_error']);
  expect((await outcome(await post(server, {}))).slice(0, 2)).toEqual([529, 'overloaded_error']);
  expect((await outcome(await post(server, {}))).slice(0, 2)).toEqual([500, 'api_error']);
  expect(server.refusals).toEqual([]);
});

type Block = { type: string; thinking?: string; signature?: string; id?: string };

const CALL: Turn = { reasoning: 'I look first.', calls: [{ name: 'look', args: { where: 'here' } }] };

function client(server: StrictServer): Anthropic {
  return new Anthropic({ apiKey: 'k', baseURL: server.origin, maxRetries: 0, logLevel: 'off' });
}

/** A conversation over the official client whose first answer thinks and calls a tool. */
async function firstAnswer(server: StrictServer, model: string): Promise<Block[]> {
  const params = { model, max_tokens: 1_000, system: 'Be brief.', messages: [{ role: 'user' as const, content: 'hi' }] };
  const message = await client(server)
    .messages.stream({ ...params, tools: [TOOL as Anthropic.Tool] })
    .finalMessage();
  expect(message.stop_reason).toBe('tool_use');
  return message.content as Block[];
}

const results = (blocks: readonly Block[]) =>
  blocks.filter(({ id }) => id !== undefined).map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'seen' }));

it('streams thinking, text and calls that the official client reads, and takes the answer back as it was', async () => {
  await using server = await start((_request, nth) => (nth === 0 ? { ...CALL, text: 'Looking.' } : { text: 'Done.' }));
  const answer = await firstAnswer(server, 'claude-opus-5-5');
  expect(answer).toMatchObject([
    { type: 'thinking', thinking: '', signature: expect.stringMatching(/^EqQB/) },
    { type: 'text', text: 'Looking.' },
    { type: 'tool_use', name: 'look', input: { where: 'here' } },
  ]);
  const body = { model: 'claude-opus-5-5', system: 'Be brief.', tools: [TOOL] };
  expect(await outcome(await post(server, { ...body, messages: [HI, assistant(...answer), user(...results(answer))] }))).toEqual([
    200,
  ]);
  expect(server.counts).toEqual({});
});

it('shows the thinking where it is asked for, and none where thinking is off', async () => {
  await using server = await start(() => ({ reasoning: 'I think.', text: 'ok' }));
  const params = { model: 'claude-opus-5', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hi' }] };
  const shown = await client(server)
    .messages.stream({ ...params, thinking: { type: 'adaptive', display: 'summarized' } })
    .finalMessage();
  expect(shown.content).toMatchObject([{ type: 'thinking', thinking: 'I think.' }, { type: 'text' }]);
  const off = await client(server)
    .messages.stream({ ...params, thinking: { type: 'disabled' } })
    .finalMessage();
  expect(off.content).toMatchObject([{ type: 'text', text: 'ok' }]);
  expect(off.usage.output_tokens).toBe(1);
});

it('refuses thinking that was changed, moved, or came from another model, and counts what is left out', async () => {
  await using server = await start(() => CALL);
  const answer = await firstAnswer(server, 'claude-opus-5');
  const [thinking, call] = answer as [Block, Block];
  const body = { model: 'claude-opus-5', system: 'Be brief.', tools: [TOOL] };
  const send = async (model: string, ...blocks: object[]) =>
    outcome(await post(server, { ...body, model, messages: [HI, assistant(...blocks), user(...results(answer))] }));
  const changed =
    'blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.';
  expect(await send('claude-opus-5', { ...thinking, thinking: 'Else.' }, call)).toEqual([
    400,
    'invalid_request_error',
    `messages.1.content.0: \`thinking\` or \`redacted_thinking\` ${changed}`,
  ]);
  expect((await send('claude-opus-5', call, thinking))[2]).toContain('messages.1.content.1: `thinking`');
  expect((await send('claude-sonnet-5', thinking, call))[2]).toBe(
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  );
  expect(await send('claude-opus-5', call)).toEqual([200]);
  expect(server.counts).toEqual({ missingThinking: 1 });
  expect(await send('claude-opus-5', thinking, call)).toEqual([200]);
  expect(server.counts).toEqual({ missingThinking: 1 });
});

it('refuses thinking of a 5.5 model after anything before it has changed, unless the request lets it be dropped', async () => {
  await using server = await start((_request, nth) => (nth < 2 ? CALL : { text: 'Done.' }));
  const model = 'claude-opus-5-5';
  const first = await firstAnswer(server, model);
  const body = { model, system: 'Be brief.', tools: [TOOL] };
  const second = await client(server)
    .messages.stream({ ...body, max_tokens: 1_000, messages: [HI, assistant(...first), user(...results(first))] } as never)
    .finalMessage();
  const then = second.content as Block[];
  const messages = [HI, assistant(...first), user(...results(first)), assistant(...then), user(...results(then))];
  const moved = (change: string, at = 1) =>
    `messages.${at}.content.0: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block". That setting requires the \`thinking-binding-controls-2026-08-01\` value in the \`anthropic-beta\` header.${change}`;
  const send = async (change: object, headers = {}) => outcome(await post(server, { ...body, messages, ...change }, headers));
  expect(await send({})).toEqual([200]);
  expect((await send({ system: 'Be long.' }))[2]).toBe(
    moved(' The `system` prompt differs from the one this block was created with.'),
  );
  expect((await send({ tools: [] }))[2]).toBe(moved(' The `tools` list differs from the one this block was created with.'));
  const edited = [{ role: 'user', content: 'ho' }, ...messages.slice(1)];
  expect((await send({ messages: edited }))[2]).toBe(
    moved(' Content before this block differs from when it was created, first at `messages.0.content.0`.'),
  );
  const withoutFirst = [HI, assistant(...first.slice(1)), ...messages.slice(2)];
  expect(await send({ messages: withoutFirst })).toEqual([200]);
  const thinking = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };
  const headers = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' };
  expect(await send({ system: 'Be long.', thinking }, headers)).toEqual([200]);
  expect(server.counts['droppedThinking']).toBe(2);
});

it('refuses thinking of a 5.5 model when a block between others was left out', async () => {
  await using server = await start(() => CALL);
  const messages: object[] = [HI];
  const body = { model: 'claude-sonnet-5-5', max_tokens: 1_000, tools: [TOOL] };
  for (let nth = 0; nth < 3; nth += 1) {
    const { content } = await client(server)
      .messages.stream({ ...body, messages } as never)
      .finalMessage();
    messages.push(assistant(...content), user(...results(content as Block[])));
  }
  expect(await outcome(await post(server, { ...body, messages }))).toEqual([200]);
  const { content } = messages[3] as { content: object[] };
  const gap = messages.with(3, assistant(...content.slice(1)));
  expect((await outcome(await post(server, { ...body, messages: gap })))[2]).toMatch(
    /^messages\.5\.content\.0: Invalid `signature`/,
  );
});

it('ends as the script says: cut, refused, broken off', async () => {
  const turns: Turn[] = [
    { calls: [{ name: 'look', args: { where: 'yard' } }], stop: 'length', reasoning: '' },
    { text: 'No.', stop: 'refusal', reasoning: '' },
    { text: 'Half', error: { status: 529, message: 'Overloaded' }, reasoning: '' },
  ];
  await using server = await start((_request, nth) => turns[nth] ?? {});
  const texts = [await post(server, {}), await post(server, {}), await post(server, {})].map((response) => response.text());
  const [cut, refused, broken] = await Promise.all(texts);
  expect(cut).toContain('"stop_reason":"max_tokens"');
  expect(cut).not.toContain('yard');
  expect(refused).toContain('"stop_reason":"refusal"');
  expect(refused).toContain('"stop_details":{"type":"refusal"');
  expect(broken).toMatch(/event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n$/);
});

it('pings while it is silent', async () => {
  const clock = new FakeClock();
  await using server = await start(() => ({ text: 'ok', silentMs: 25_000, signsOfLife: true }), { clock });
  const response = post(server, {});
  const running = setInterval(() => clock.advance(5_000), 5);
  const text = await (await response).text();
  clearInterval(running);
  expect(text.split('event: ping').length - 1).toBeGreaterThanOrEqual(4);
});

it('lists its models as Anthropic does', async () => {
  await using server = await start(undefined, { models: ['claude-opus-5', 'claude-2'], retired: ['claude-2'] });
  const page = await client(server).models.list();
  expect(page.data.map(({ id }) => id)).toEqual(['claude-opus-5']);
});
