import Anthropic from '@anthropic-ai/sdk';
import { expect, it } from 'vitest';
import { FakeClock } from '../fakes.ts';
import { anthropicWire } from './anthropic.ts';
import { assistant, HI, outcome, post, start, TOOL, user } from './anthropic-requests.ts';
import { anthropicTrouble } from './anthropic-shapes.ts';
import { RETIRED_CLAUDE } from './claude-models.ts';
import { type StrictServer, startStrictServer, type Turn } from './strict-server.ts';

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
