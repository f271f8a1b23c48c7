import { describe, expect, it } from 'vitest';
import { openAiChat } from './openai-chat.ts';
import { asks, type Body, callsIn, deltas, expectRule, post, read, result, TOOLS, user } from './strict-client.ts';
import { type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';

const start = (turn: Turn = { text: 'It is empty.' }, options: StrictServerOptions = {}) =>
  startStrictServer(openAiChat, () => turn, options);
const chat = (...messages: readonly object[]): Body => ({ model: 'gpt-4o', messages });
const asked = (fields: Body, model = 'gpt-5'): Body => ({ model, messages: [user()], ...fields });

function error(message: string, param: string | null, code: string | null = null): Body {
  return { error: { message, type: 'invalid_request_error', param, code } };
}

describe('the strict server of OpenAI, chat completions', () => {
  it('refuses a call without its result', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), asks('call_1', 'call_2'), result('call_1'), user('And now?')),
      good: chat(user(), asks('call_1', 'call_2'), result('call_2'), result('call_1'), user('And now?')),
      status: 400,
      body: error(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_2",
        'messages.[3].role',
      ),
    });
    expect(server.refusals).toHaveLength(1);
  });

  it('refuses a call whose result comes too late, or not at all', async () => {
    await using server = await start();
    const late = chat(user(), asks('call_1'), user('Well?'), result('call_1'));
    expect(await post(server, late)).toMatchObject({ status: 400, body: { error: { param: 'messages.[2].role' } } });
    expect(await post(server, chat(user(), asks('call_1')))).toMatchObject({ status: 400 });
  });

  it('refuses a result without its call', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), result('call_1')),
      good: chat(user(), asks('call_1'), result('call_1')),
      status: 400,
      body: error("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", 'messages.[1].role'),
    });
  });

  it('refuses a call id of more than 40 characters, or with others than letters, digits, _ and -', async () => {
    await using server = await start();
    const [long, fits] = [`call_${'x'.repeat(36)}`, `call_${'x'.repeat(35)}`];
    await expectRule(server, {
      bad: chat(user(), asks(long), result(long)),
      good: chat(user(), asks(fits), result(fits)),
      status: 400,
      body: error(
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead.",
        'messages[1].tool_calls[0].id',
        'string_above_max_length',
      ),
    });
    await expectRule(server, {
      bad: chat(user(), asks('Read:158'), result('Read:158')),
      good: chat(user(), asks('Read-158_a'), result('Read-158_a')),
      status: 400,
      body: error(
        "Invalid 'messages[1].tool_calls[0].id': 'Read:158'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.",
        'messages[1].tool_calls[0].id',
        'invalid_value',
      ),
    });
  });

  it('refuses null as content, but with calls, and an empty list of calls', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), { role: 'assistant', content: null }, user()),
      good: chat(user(), { role: 'assistant', content: '' }, user()),
      status: 400,
      body: error("Invalid value for 'content': expected a string, got null.", 'messages.[1].content'),
    });
    await expectRule(server, {
      bad: chat(user(), { role: 'assistant', content: 'Hello', tool_calls: [] }, user()),
      good: chat(user(), { role: 'assistant', content: 'Hello' }, user()),
      status: 400,
      body: error(
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        'messages[1].tool_calls',
        'empty_array',
      ),
    });
  });

  it('refuses parameters that it does not know', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ thinking: { type: 'disabled' } }),
      good: asked({ prompt_cache_key: 'session-1' }),
      status: 400,
      body: error('Unrecognized request argument supplied: thinking', null),
    });
  });

  it('refuses max_tokens for models that reason, and takes it for the others', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ max_tokens: 100 }),
      good: asked({ max_completion_tokens: 100 }),
      status: 400,
      body: error(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        'max_tokens',
        'unsupported_parameter',
      ),
    });
    expect(await post(server, asked({ max_tokens: 100 }, 'gpt-4o'))).toMatchObject({ status: 200 });
  });

  it("refuses an output limit over the model's", async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ max_tokens: 20_480 }, 'gpt-4o'),
      good: asked({ max_tokens: 16_384 }, 'gpt-4o'),
      status: 400,
      body: error(
        'max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided 20480.',
        'max_tokens',
        'invalid_value',
      ),
    });
    const over = asked({ max_completion_tokens: 128_001 }, 'gpt-5.4-mini');
    expect(await post(server, over)).toMatchObject({ status: 400, body: { error: { param: 'max_completion_tokens' } } });
  });

  it('refuses another temperature than 1 while the model reasons', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ temperature: 0.2 }),
      good: asked({ temperature: 1 }),
      status: 400,
      body: error(
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        'temperature',
        'unsupported_value',
      ),
    });
    expect(await post(server, asked({ temperature: 0.2 }, 'gpt-4.1'))).toMatchObject({ status: 200 });
    expect(await post(server, asked({ temperature: 0.2, reasoning_effort: 'none' }, 'gpt-6-sol'))).toMatchObject({ status: 200 });
  });

  it('refuses a level of effort that the model does not have, and any for models that do not reason', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ reasoning_effort: 'minimal' }, 'gpt-5.1'),
      good: asked({ reasoning_effort: 'minimal' }, 'gpt-5-mini'),
      status: 400,
      body: error(
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', 'medium', and 'high'.",
        'reasoning_effort',
        'unsupported_value',
      ),
    });
    const plain = asked({ reasoning_effort: 'low' }, 'gpt-4o-mini');
    expect(await post(server, plain)).toEqual({
      status: 400,
      body: error('Unrecognized request argument supplied: reasoning_effort', null),
    });
  });

  it('refuses function tools from GPT-5.6 on unless the effort is none, also when none is named', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ tools: TOOLS }, 'gpt-6-luna'),
      good: asked({ tools: TOOLS, reasoning_effort: 'none' }, 'gpt-6-luna'),
      status: 400,
      body: error(
        "Function tools with reasoning_effort are not supported for gpt-6-luna in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
        'reasoning_effort',
      ),
    });
    expect(await post(server, asked({ tools: TOOLS }, 'gpt-6-astra'))).toMatchObject({ status: 400 });
    expect(await post(server, asked({ tools: TOOLS }, 'gpt-5.4'))).toMatchObject({ status: 200 });
  });

  it('refuses a function without properties', async () => {
    await using server = await start();
    const withSchema = (parameters: object): Body =>
      asked({ tools: [{ type: 'function', function: { name: 'look', parameters } }] });
    await expectRule(server, {
      bad: withSchema({ type: 'object' }),
      good: withSchema({ type: 'object', properties: {} }),
      status: 400,
      body: error(
        "Invalid schema for function 'look': In context=(), object schema missing properties.",
        'tools[0].function.parameters',
        'invalid_function_parameters',
      ),
    });
  });

  it('names what it refuses of keys, models, windows and addresses in its own words', async () => {
    const options = { apiKey: 'sk-strict-1234', models: ['gpt-4o', 'gpt-4'], retired: ['gpt-4'], contextWindow: 200 };
    await using server = await start({ text: 'Yes.' }, options);
    const url = 'https://platform.openai.com';
    expect(await post(server, asked({}, 'gpt-4o'), 'sk-wrong')).toEqual({
      status: 401,
      body: error(
        `Incorrect API key provided: ****rong. You can find your API key at ${url}/account/api-keys.`,
        null,
        'invalid_api_key',
      ),
    });
    expect(await post(server, asked({}, 'gpt-4o'), '')).toMatchObject({ status: 401 });
    expect(await post(server, asked({}, 'gpt-9'))).toEqual({
      status: 404,
      body: error('The model `gpt-9` does not exist or you do not have access to it.', null, 'model_not_found'),
    });
    expect(await post(server, asked({}, 'gpt-4'))).toEqual({
      status: 404,
      body: error(`The model \`gpt-4\` has been deprecated, learn more here: ${url}/docs/deprecations`, null, 'model_not_found'),
    });
    expect(await post(server, { model: 'gpt-4o', messages: [user('x'.repeat(940))] })).toEqual({
      status: 400,
      body: error(
        "This model's maximum context length is 200 tokens. However, your messages resulted in 254 tokens. Please reduce the length of the messages.",
        'messages',
        'context_length_exceeded',
      ),
    });
    expect(await post(server, asked({}, 'gpt-4o'))).toMatchObject({ status: 200 });
  });

  it("is read by OpenAI's client: text, calls, usage", async () => {
    const calls = [
      { name: 'read_file', args: { path: 'a.txt' } },
      { name: 'read_file', args: { path: 'b.txt' } },
    ];
    await using server = await start({
      text: 'I look into both files, one after the other.',
      calls,
      reasoning: 'hidden',
      usage: { in: 90, out: 30, cached: 10, reasoning: 5 },
    });
    const chunks = await read(server, { ...asked({}), stream_options: { include_usage: true } });
    expect(deltas(chunks, 'content').join('')).toBe('I look into both files, one after the other.');
    expect(callsIn(chunks)).toMatchObject([
      { function: { name: 'read_file', arguments: '{"path":"a.txt"}' } },
      { function: { name: 'read_file', arguments: '{"path":"b.txt"}' } },
    ]);
    expect(deltas(chunks, 'reasoning_content')).toEqual([]);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 90,
        completion_tokens: 30,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
    });
    expect(chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).at(-1)).toBe('tool_calls');
    expect(server.billed).toEqual({ in: 90, out: 30, cached: 10, cacheWrite: 0 });
  });

  it('reports usage only where it was asked for, and the beginning of a prompt it has seen as cached', async () => {
    await using server = await start();
    const system = { role: 'system', content: 'Be helpful. '.repeat(500) };
    const ask = (text: string): Body => ({
      model: 'gpt-4o',
      messages: [system, user(text)],
      stream_options: { include_usage: true },
    });
    const { stream_options: _, ...silent } = ask('One?') as { stream_options: unknown };
    expect((await read(server, silent)).some(({ usage }) => usage)).toBe(false);
    const usage = (await read(server, ask('Two?'))).at(-1)?.usage;
    expect(usage?.prompt_tokens_details?.cached_tokens).toBe(1472);
    expect(server.billed.cached).toBe(1472);
    expect(
      (await read(server, { ...ask('Two?'), model: 'gpt-4o-mini' })).at(-1)?.usage?.prompt_tokens_details?.cached_tokens,
    ).toBe(0);
  });

  it('bills what is written to the cache from GPT-5.6 on', async () => {
    await using server = await start();
    const body = { model: 'gpt-6-sol', messages: [user('a'.repeat(8_000))], stream_options: { include_usage: true } };
    const usage = (await read(server, body)).at(-1)?.usage;
    expect(usage?.prompt_tokens_details).toMatchObject({ cached_tokens: 0, cache_write_tokens: usage?.prompt_tokens });
    expect(server.billed.cacheWrite).toBe(usage?.prompt_tokens);
  });
});
