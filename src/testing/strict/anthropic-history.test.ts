import { expect, test } from 'vitest';
import { assistant, type Body, HI, outcome, post, RESULT, start, USE, user } from './anthropic-requests.ts';

/** Body, the refusal's message, and the same body made right. */
const RULES: readonly (readonly [string, Body, string, Body])[] = [
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
