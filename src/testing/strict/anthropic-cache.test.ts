import { expect, it } from 'vitest';
import { FakeClock } from '../fakes.ts';
import { anthropicWire } from './anthropic.ts';
import { type StrictServer, startStrictServer } from './strict-server.ts';

const MARK = { cache_control: { type: 'ephemeral' } };
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const words = (tokens: number, letter = 'x') => letter.repeat(tokens * 4);
const text = (tokens: number, mark: object = {}, letter = 'x') => ({ type: 'text', text: words(tokens, letter), ...mark });

interface Counted {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: { readonly ephemeral_5m_input_tokens: number; readonly ephemeral_1h_input_tokens: number };
}

async function start(clock = new FakeClock()): Promise<StrictServer> {
  return startStrictServer(anthropicWire(), () => ({ text: 'ok', reasoning: '' }), { clock });
}

async function ask(server: StrictServer, body: object): Promise<Counted> {
  const response = await fetch(`${server.origin}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({
      model: 'claude-opus-5',
      max_tokens: 100,
      stream: true,
      messages: [{ role: 'user', content: 'hi' }],
      ...body,
    }),
  });
  const events = await response.text();
  expect(response.status, events).toBe(200);
  const { message } = JSON.parse(/^data: (\{"type":"message_start".*)$/m.exec(events)?.[1] ?? '') as {
    message: { usage: Counted };
  };
  return message.usage;
}

/** Read, written, and the rest, in hundreds of tokens. */
async function shares(server: StrictServer, body: object): Promise<readonly number[]> {
  const { input_tokens: rest, cache_creation_input_tokens: written, cache_read_input_tokens: read } = await ask(server, body);
  return [read, written, rest].map((tokens) => Math.round(tokens / 100));
}

it('writes at a mark and reads what an earlier request wrote; without marks it does neither', async () => {
  await using server = await start();
  expect(await shares(server, { system: [text(1_000)] })).toEqual([0, 0, 10]);
  expect(await shares(server, { system: [text(1_000, MARK)] })).toEqual([0, 10, 0]);
  expect(await shares(server, { system: [text(1_000, MARK)] })).toEqual([10, 0, 0]);
  expect(await shares(server, { system: [text(1_000, MARK)], messages: [{ role: 'user', content: words(500) }] })).toEqual([
    10, 0, 5,
  ]);
  expect(await shares(server, { system: [text(1_000, MARK, 'y')] })).toEqual([0, 10, 0]);
  expect(await shares(server, { model: 'claude-opus-5-5', system: [text(1_000, MARK)] })).toEqual([0, 10, 0]);
});

it('caches nothing below the minimum of the model, and says nothing about it', async () => {
  await using server = await start();
  for (const [model, tokens] of [
    ['claude-opus-5', 400],
    ['claude-sonnet-5', 900],
    ['claude-haiku-4-5', 4_000],
  ] as const) {
    await ask(server, { model, system: [text(tokens, MARK)] });
    expect(await ask(server, { model, system: [text(tokens, MARK)] })).toMatchObject({
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    });
    const longer = { model, system: [text(tokens + 200, MARK)] };
    await ask(server, longer);
    expect((await ask(server, longer)).cache_read_input_tokens).toBeGreaterThan(tokens);
  }
});

/** So many blocks of 100 tokens, those at these numbers marked. */
const blocks = (count: number, ...marked: number[]) => ({
  messages: [{ role: 'user', content: Array.from({ length: count }, (_, at) => text(93, marked.includes(at + 1) ? MARK : {})) }],
});

it('looks back 20 blocks from a mark and no further', async () => {
  await using server = await start();
  expect(await shares(server, blocks(10, 10))).toEqual([0, 10, 0]);
  expect(await shares(server, blocks(15, 15))).toEqual([10, 5, 0]);
  expect(await shares(server, blocks(35, 35))).toEqual([0, 35, 0]);
  await using other = await start();
  await shares(other, blocks(15, 15));
  expect(await shares(other, blocks(35, 15, 35))).toEqual([15, 20, 0]);
  expect(await shares(other, blocks(54, 54))).toEqual([35, 19, 0]);
});

it('takes neighbouring results for one block when it looks back', async () => {
  await using server = await start();
  const ids = Array.from({ length: 25 }, (_, at) => `toolu_${at}`);
  const opening = { role: 'user', content: [text(1_000, MARK)] };
  await ask(server, { messages: [opening] });
  const calls = { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })) };
  const results = ids.map((id, at) => ({ type: 'tool_result', tool_use_id: id, content: 'seen', ...(at === 24 ? MARK : {}) }));
  const [read, written] = await shares(server, {
    messages: [{ role: 'user', content: [text(1_000)] }, calls, { role: 'user', content: results }],
  });
  expect(read).toBe(10);
  expect(written).toBeGreaterThan(5);
});

it('forgets after five minutes without use, or after an hour where that was paid for', async () => {
  const clock = new FakeClock();
  await using server = await start(clock);
  const body = { system: [text(1_000, MARK)] };
  await ask(server, body);
  for (const _ of [1, 2, 3]) {
    clock.advance(4 * 60_000);
    expect(await shares(server, body)).toEqual([10, 0, 0]);
  }
  clock.advance(5 * 60_000);
  expect(await shares(server, body)).toEqual([0, 10, 0]);
  const hourly = { system: [text(2_000, HOUR, 'h')], messages: [{ role: 'user', content: [text(500, MARK)] }] };
  const { cache_creation: written } = await ask(server, hourly);
  expect(written.ephemeral_1h_input_tokens).toBeGreaterThan(1_990);
  expect(written.ephemeral_5m_input_tokens).toBeGreaterThan(490);
  expect(server.counts).toEqual({ cacheWrite1h: written.ephemeral_1h_input_tokens });
  clock.advance(55 * 60_000);
  expect(await shares(server, hourly)).toEqual([20, 5, 0]);
});

it('loses everything with a changed tool, and only the messages with another tool_choice, effort or thinking', async () => {
  await using server = await start();
  const tool = { name: 'look', description: words(1_000), input_schema: { type: 'object' } };
  const body = { tools: [tool], system: [text(1_000, MARK)], messages: [{ role: 'user', content: [text(1_000, MARK)] }] };
  expect(await shares(server, body)).toEqual([0, 30, 0]);
  expect(await shares(server, body)).toEqual([30, 0, 0]);
  expect(await shares(server, { ...body, output_config: { effort: 'high' }, thinking: { type: 'adaptive' } })).toEqual([
    30, 0, 0,
  ]);
  expect(await shares(server, { ...body, tool_choice: { type: 'none' } })).toEqual([20, 10, 0]);
  expect(await shares(server, { ...body, output_config: { effort: 'low' } })).toEqual([20, 10, 0]);
  expect(await shares(server, { ...body, thinking: { type: 'disabled' } })).toEqual([20, 10, 0]);
  expect(await shares(server, { ...body, tools: [{ ...tool, name: 'see' }] })).toEqual([0, 30, 0]);
});

it('loses the messages with the first picture, also one in a result', async () => {
  await using server = await start();
  const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
  const asked = [
    { role: 'user', content: [text(1_000, MARK)] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
  ];
  const seen = (content: object[]) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content }] });
  const body = (content: object[]) => ({ system: [text(1_000, MARK)], messages: [...asked, seen(content)] });
  expect((await shares(server, body([text(1)])))[1]).toBe(20);
  expect((await shares(server, body([text(2)])))[0]).toBe(20);
  expect((await shares(server, body([{ type: 'image', source }]))).slice(0, 2)).toEqual([10, 10]);
});

it('places a mark by itself where the request asks for it at the top', async () => {
  await using server = await start();
  const first = { role: 'user', content: words(1_000) };
  expect(await shares(server, { ...MARK, messages: [first] })).toEqual([0, 10, 0]);
  const later = [first, { role: 'assistant', content: words(100) }, { role: 'user', content: words(200) }];
  expect(await shares(server, { ...MARK, messages: later })).toEqual([10, 3, 0]);
});

/** What a turn of 20 calls pays, as a share of the same tokens uncached: writes 1.25, reads 0.1. */
async function shareOfTurn(mark: object): Promise<number> {
  await using server = await start();
  const messages: { role: string; content: object[] }[] = [{ role: 'user', content: [text(100)] }];
  for (let step = 0; step <= 20; step += 1) {
    const last = messages.at(-1)?.content.at(-1);
    const marked = messages.with(-1, { role: 'user', content: [{ ...last, ...mark }] });
    await ask(server, { system: [text(2_900, mark)], messages: marked });
    messages.push({ role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${step}`, name: 'look', input: {} }] });
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${step}`, content: words(2_000) }] });
  }
  const { in: all, cached, cacheWrite } = server.billed;
  return (all - cached - cacheWrite + cached * 0.1 + cacheWrite * 1.25) / all;
}

it('tells from what is billed how much a turn of 20 calls saves', async () => {
  expect(await shareOfTurn({})).toBe(1);
  expect(await shareOfTurn(MARK)).toBeLessThan(0.25);
});
