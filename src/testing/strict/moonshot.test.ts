import { describe, expect, it } from 'vitest';
import { moonshot } from './moonshot.ts';
import { asks, type Body, callsIn, deltas, expectRule, post, read, result, user } from './strict-client.ts';
import { type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';

const start = (turn: Turn = { text: 'It is empty.' }, options: StrictServerOptions = {}) =>
  startStrictServer(moonshot, () => turn, options);
const chat = (...messages: readonly object[]): Body => ({ model: 'kimi-k2.6', messages });
const asked = (fields: Body): Body => ({ ...chat(user()), ...fields });
const thought = (message: object, reasoning = ''): object => ({ ...message, reasoning_content: reasoning });
const OFF = { thinking: { type: 'disabled' } };

function error(message: string, type = 'invalid_request_error'): Body {
  return { error: { message, type } };
}

function missing(index: number): Body {
  const message = `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`;
  return { error: { type: 'invalid_request_error', message }, type: 'error' };
}

describe('the strict server of Moonshot', () => {
  it('refuses a call without its result, and a result without its call', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), thought(asks('Shell:58')), user('And now?')),
      good: chat(user(), thought(asks('Shell:58')), result('Shell:58'), user('And now?')),
      status: 400,
      body: error(
        "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: Shell:58",
      ),
    });
    await expectRule(server, {
      bad: chat(user(), result('Shell:58')),
      good: chat(user(), thought(asks('Shell:58')), result('Shell:58')),
      status: 400,
      body: error('Invalid request: tool_call_id Shell:58 is not found'),
    });
  });

  it('refuses an empty assistant message', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), { role: 'assistant', content: '' }, user()),
      good: chat(user(), { role: 'assistant', content: 'Hello.' }, user()),
      status: 400,
      body: error("Invalid request: the message at position 1 with role 'assistant' must not be empty"),
    });
  });

  it('refuses calls without reasoning_content while thinking is on, wherever in the history they are', async () => {
    await using server = await start();
    const answer = { role: 'assistant', content: 'It is empty.' };
    await expectRule(server, {
      bad: chat(user(), asks('call_1'), result('call_1'), answer, user('And now?')),
      good: chat(user(), thought(asks('call_1')), result('call_1'), answer, user('And now?')),
      status: 400,
      body: missing(1),
    });
    expect(await post(server, { ...chat(user(), asks('call_1'), result('call_1')), ...OFF })).toMatchObject({ status: 200 });
  });

  it('refuses other reasoning than it issued with a call', async () => {
    await using server = await start({ text: 'I look.', calls: [{ name: 'read_file', args: { path: 'a' } }] });
    const chunks = await read(server, asked({}));
    const [call] = callsIn(chunks);
    expect(call?.id).toMatch(/^read_file:\w+$/);
    const reasoning = deltas(chunks, 'reasoning_content').join('');
    const message = { role: 'assistant', content: 'I look.', tool_calls: [call] };
    await expectRule(server, {
      bad: chat(user(), thought(message), result(call?.id ?? '')),
      good: chat(user(), thought(message, reasoning), result(call?.id ?? '')),
      status: 400,
      body: missing(1),
    });
  });

  it('refuses another temperature than the fixed one, which differs while thinking is off', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ temperature: 0.6 }),
      good: asked({ temperature: 1 }),
      status: 400,
      body: error('invalid temperature: only 1 is allowed for this model'),
    });
    await expectRule(server, {
      bad: asked({ ...OFF, temperature: 1 }),
      good: asked({ ...OFF, temperature: 0.6 }),
      status: 400,
      body: error('invalid temperature: only 0.6 is allowed for this model'),
    });
  });

  it('refuses to stop thinking where the model cannot, and both ways to steer it at once', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ ...OFF, model: 'kimi-k2.7-code' }),
      good: asked({ ...OFF, model: 'kimi-k2.6' }),
      status: 400,
      body: error('invalid thinking: only type=enabled is allowed for this model'),
    });
    await expectRule(server, {
      bad: asked({ thinking: { type: 'enabled' }, reasoning_effort: 'high' }),
      good: asked({ model: 'kimi-k3', reasoning_effort: 'high' }),
      status: 400,
      body: error("cannot specify both 'thinking' and 'reasoning_effort'"),
    });
    await expectRule(server, {
      bad: asked({ reasoning_effort: 'none' }),
      good: asked({ reasoning_effort: 'low' }),
      status: 400,
      body: error('invalid reasoning_effort: none is not allowed for this model'),
    });
  });

  it('ignores parameters and levels that it does not know, and counts those levels', async () => {
    await using server = await start();
    expect(await post(server, asked({ model: 'kimi-k3', reasoning_effort: 'medium', anything: 1 }))).toMatchObject({
      status: 200,
    });
    expect(server.counts).toEqual({ 'ignored effort': 1 });
  });

  it('names what it refuses of keys, models and windows in its own words', async () => {
    const options = { apiKey: 'sk-strict-1234', models: ['kimi-k2.6'], retired: ['kimi-k2.5'], contextWindow: 200 };
    await using server = await start({ text: 'Yes.' }, options);
    expect(await post(server, asked({}), 'sk-wrong')).toEqual({
      status: 401,
      body: error('Invalid Authentication', 'invalid_authentication_error'),
    });
    expect(await post(server, asked({ model: 'kimi-k2.5' }))).toEqual({
      status: 404,
      body: error('Not found the model kimi-k2.5 or Permission denied', 'resource_not_found_error'),
    });
    expect(await post(server, chat(user('x'.repeat(940))))).toEqual({
      status: 400,
      body: error('Invalid request: Your request exceeded model token limit: 200 (requested: 255)'),
    });
    expect(await post(server, asked({}))).toMatchObject({ status: 200 });
  });

  it("is read by OpenAI's client: usage in the choice, cached tokens on its top level", async () => {
    await using server = await start({ text: 'Yes.', reasoning: 'Hm.', usage: { in: 100, out: 40, cached: 64, reasoning: 15 } });
    const chunks = await read(server, asked({}));
    expect(deltas(chunks, 'reasoning_content')).toEqual(['Hm.']);
    expect(deltas(chunks, 'content')).toEqual(['Yes.']);
    expect(chunks.at(-1)?.choices).toMatchObject([
      { finish_reason: 'stop', usage: { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140, cached_tokens: 64 } },
    ]);
    expect(chunks.some(({ usage }) => usage !== undefined)).toBe(false);
  });
});
