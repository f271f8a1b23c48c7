import { describe, expect, it } from 'vitest';
import { deepseek } from './deepseek.ts';
import { asks, type Body, callsIn, deltas, expectRule, post, read, result, TOOLS, user } from './strict-client.ts';
import { type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';

const start = (turn: Turn = { text: 'It is empty.' }, options: StrictServerOptions = {}) =>
  startStrictServer(deepseek, () => turn, options);
const chat = (...messages: readonly object[]): Body => ({ model: 'deepseek-flash', messages });
const asked = (fields: Body): Body => ({ ...chat(user()), ...fields });
const thought = (message: object, reasoning = ''): object => ({ ...message, reasoning_content: reasoning });

function error(message: string, type = 'invalid_request_error'): Body {
  return { error: { message, type, param: null, code: 'invalid_request_error' } };
}

const MISSING = error('The `reasoning_content` in the thinking mode must be passed back to the API.');

describe('the strict server of DeepSeek', () => {
  it('refuses a call without its result, and a result without its call', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), thought(asks('call_1', 'call_2')), result('call_1')),
      good: chat(user(), thought(asks('call_1', 'call_2')), result('call_1'), result('call_2')),
      status: 400,
      body: error(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
      ),
    });
    await expectRule(server, {
      bad: chat(user(), thought(asks('call_1')), result('call_1'), result('call_2')),
      good: chat(user(), thought(asks('call_1')), result('call_1')),
      status: 400,
      body: error("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
    });
  });

  it('refuses an assistant message that says nothing and calls nothing', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), { role: 'assistant', content: '' }, user()),
      good: chat(user(), { role: 'assistant', content: 'Hello.' }, user()),
      status: 400,
      body: error('Invalid assistant message: content or tool_calls must be set'),
    });
  });

  it('refuses calls without reasoning_content while thinking is on; empty is enough for calls of another provider', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), asks('call_1'), result('call_1'), user('And now?')),
      good: chat(user(), thought(asks('call_1')), result('call_1'), user('And now?')),
      status: 400,
      body: MISSING,
    });
    const nothing = { ...asks('call_1'), reasoning_content: null };
    expect(await post(server, chat(user(), nothing, result('call_1')))).toEqual({ status: 400, body: MISSING });
    const off = { ...chat(user(), asks('call_1'), result('call_1')), thinking: { type: 'disabled' } };
    expect(await post(server, off)).toMatchObject({ status: 200 });
  });

  it('refuses any answer without reasoning_content in a request that has tools', async () => {
    await using server = await start();
    const answer = { role: 'assistant', content: 'It is empty.' };
    await expectRule(server, {
      bad: { ...chat(user(), answer, user('And now?')), tools: TOOLS },
      good: { ...chat(user(), thought(answer), user('And now?')), tools: TOOLS },
      status: 400,
      body: MISSING,
    });
    expect(await post(server, chat(user(), answer, user('And now?')))).toMatchObject({ status: 200 });
  });

  it('refuses other reasoning than it issued with a call, also when the client has renamed the call', async () => {
    await using server = await start({ calls: [{ name: 'read_file', args: { path: 'a', lines: 3 } }] });
    const chunks = await read(server, asked({ tools: TOOLS }));
    const reasoning = deltas(chunks, 'reasoning_content').join('');
    expect(reasoning).not.toBe('');
    const [call] = callsIn(chunks);
    const [id, renamed] = [call?.id ?? '', 'turn1_0'];
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const ours = { ...call, id: renamed, function: { name: 'read_file', arguments: '{"lines": 3, "path": "a"}' } };
    const other = { role: 'assistant', content: '', tool_calls: [ours] };
    await expectRule(server, {
      bad: chat(user(), thought(message, ''), result(id)),
      good: chat(user(), thought(message, reasoning), result(id)),
      status: 400,
      body: MISSING,
    });
    await expectRule(server, {
      bad: chat(user(), thought(other, `${reasoning} `), result(renamed)),
      good: chat(user(), thought(other, reasoning), result(renamed)),
      status: 400,
      body: MISSING,
    });
    const otherModel = { ...chat(user(), thought(message, ''), result(id)), model: 'deepseek-v4-pro' };
    expect(await post(server, otherModel)).toMatchObject({ status: 200 });
  });

  it('refuses limits, levels and roles out of range', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ max_tokens: 393_217 }),
      good: asked({ max_tokens: 393_216 }),
      status: 400,
      body: error('Invalid max_tokens value, the valid range of max_tokens is [1, 393216]'),
    });
    await expectRule(server, {
      bad: asked({ reasoning_effort: 'none' }),
      good: asked({ reasoning_effort: 'low' }),
      status: 400,
      body: error(
        'Failed to deserialize the JSON body into the target type: reasoning_effort: unknown variant `none`, expected one of `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, `ultra` at line 1 column 68',
      ),
    });
    await expectRule(server, {
      bad: chat({ role: 'developer', content: 'Be brief.' }, user()),
      good: chat({ role: 'system', content: 'Be brief.' }, user()),
      status: 400,
      body: error(
        'Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`, `latest_reminder` at line 1 column 68',
      ),
    });
    expect(await post(server, asked({ temperature: 0.2, anything: true }))).toMatchObject({ status: 200 });
  });

  it('names what it refuses of keys, models and windows in its own words', async () => {
    const options = { apiKey: 'sk-strict-1234', models: ['deepseek-flash'], retired: ['deepseek-chat'], contextWindow: 200 };
    await using server = await start({ text: 'Yes.' }, options);
    expect(await post(server, asked({}), 'sk-wrong')).toEqual({
      status: 401,
      body: error('Authentication Fails, Your api key: ****rong is invalid', 'authentication_error'),
    });
    expect(await post(server, asked({ model: 'deepseek-chat' }))).toEqual({
      status: 400,
      body: error('The supported API model names are deepseek-v4-pro or deepseek-flash, but you passed deepseek-chat.'),
    });
    expect(await post(server, asked({ max_tokens: 190 }))).toEqual({
      status: 400,
      body: error(
        "This model's maximum context length is 200 tokens. However, you requested 220 tokens (30 in the messages, 190 in the completion). Please reduce the length of the messages or completion.",
      ),
    });
    expect(await post(server, asked({}))).toMatchObject({ status: 200 });
  });

  it("is read by OpenAI's client: keep-alive lines, reasoning, hits and misses, a shortage", async () => {
    const usage = { in: 100, out: 40, cached: 64, reasoning: 15 };
    const turn = {
      reasoning: 'Let me see.',
      text: 'Half an ans',
      usage,
      silentMs: 20,
      signsOfLife: true,
      finish: 'insufficient_system_resource',
    };
    await using server = await start(turn);
    const chunks = await read(server, asked({}));
    expect(deltas(chunks, 'reasoning_content').join('')).toBe('Let me see.');
    expect(deltas(chunks, 'content').join('')).toBe('Half an ans');
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'insufficient_system_resource' }],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 40,
        prompt_cache_hit_tokens: 64,
        prompt_cache_miss_tokens: 36,
        completion_tokens_details: { reasoning_tokens: 15 },
      },
    });
    expect((await post(server, asked({}))).body).toMatch(/^: keep-alive\n\n/);
  });

  it('does not think where thinking is off', async () => {
    await using server = await start({ text: 'Yes.', reasoning: 'never shown' });
    expect(deltas(await read(server, asked({ thinking: { type: 'disabled' } })), 'reasoning_content')).toEqual([]);
  });
});
