import { describe, expect, it } from 'vitest';
import { mistral } from './mistral.ts';
import { asks, type Body, callsIn, deltas, expectRule, post, read, result, TOOLS, user } from './strict-client.ts';
import { type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';

const start = (turn: Turn = { text: 'It is empty.' }, options: StrictServerOptions = {}) =>
  startStrictServer(mistral, () => turn, options);
const chat = (...messages: readonly object[]): Body => ({ model: 'mistral-small-latest', messages });
const asked = (fields: Body): Body => ({ ...chat(user()), ...fields });
const [ID, OTHER] = ['dnEN4JsJy', '123456789'];

function error(message: string, type = 'invalid_request_error', code: string | null = null): Body {
  return { object: 'error', message, type, param: null, code };
}

function extra(input: unknown, ...loc: readonly (string | number)[]): Body {
  return { detail: [{ type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs are not permitted', input }] };
}

describe('the strict server of Mistral', () => {
  it('refuses call ids that are not nine letters and digits', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), asks('turn1_0'), result('turn1_0')),
      good: chat(user(), asks(ID), result(ID)),
      status: 400,
      body: error('Tool call id was turn1_0 but must be a-z, A-Z, 0-9, with a length of 9.', 'invalid_function_call', '3280'),
    });
    expect(await post(server, chat(user(), asks('dnEN4J_Jy'), result('dnEN4J_Jy')))).toMatchObject({ status: 400 });
  });

  it('refuses another number of results than of calls, and results of other calls', async () => {
    await using server = await start();
    const body = error('Not the same number of function calls and responses', 'invalid_request_error', '3230');
    await expectRule(server, {
      bad: chat(user(), asks(ID, OTHER), result(ID)),
      good: chat(user(), asks(ID, OTHER), result(ID), result(OTHER)),
      status: 400,
      body,
    });
    expect(await post(server, chat(user(), asks(ID), result(OTHER)))).toEqual({ status: 400, body });
    expect(await post(server, chat(user(), asks(ID), user()))).toEqual({ status: 400, body });
  });

  it('refuses roles in an order that it does not expect', async () => {
    await using server = await start();
    const order = (message: string): Body => error(message, 'invalid_request_message_order', '3230');
    const answer = { role: 'assistant', content: 'It is empty.' };
    await expectRule(server, {
      bad: chat(user(), asks(ID), result(ID), user('And now?')),
      good: chat(user(), asks(ID), result(ID), answer, user('And now?')),
      status: 400,
      body: order("Unexpected role 'user' after role 'tool'"),
    });
    await expectRule(server, {
      bad: chat(user(), result(ID)),
      good: chat(user(), user('And now?')),
      status: 400,
      body: order("Unexpected role 'tool' after role 'user'"),
    });
    await expectRule(server, {
      bad: chat(user(), answer),
      good: chat(user(), { ...answer, prefix: true }),
      status: 400,
      body: order('Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'),
    });
  });

  it('refuses an assistant message that says nothing and calls nothing', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: chat(user(), { role: 'assistant', content: '' }, user()),
      good: chat(user(), { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] }, user()),
      status: 400,
      body: error('Assistant message must have either content or tool_calls, but not none.', 'invalid_request_message', '3240'),
    });
  });

  it('refuses fields that it does not know, in the request, its options and its messages', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ max_completion_tokens: 100 }),
      good: asked({ max_tokens: 100 }),
      status: 422,
      body: extra(100, 'max_completion_tokens'),
    });
    await expectRule(server, {
      bad: asked({ stream_options: { include_usage: true } }),
      good: asked({}),
      status: 422,
      body: extra(true, 'stream_options', 'include_usage'),
    });
    const answer = { role: 'assistant', content: 'Hello.' };
    await expectRule(server, {
      bad: chat(user(), { ...answer, reasoning_content: 'Hm.' }, user()),
      good: chat(user(), answer, user()),
      status: 422,
      body: extra('Hm.', 'messages', 1, 'assistant', 'reasoning_content'),
    });
  });

  it('refuses a level of effort that the model does not have', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ reasoning_effort: 'medium' }),
      good: asked({ reasoning_effort: 'medium', model: 'mistral-large-4-0' }),
      status: 400,
      body: error(
        "reasoning_effort='medium' is not supported for this model. Must be one of (<ReasoningEffort.none: 'none'>, <ReasoningEffort.high: 'high'>)",
        'invalid_request_invalid_args',
        '3051',
      ),
    });
  });

  it('names what it refuses of keys, models and windows in its own words', async () => {
    const options = {
      apiKey: 'sk-strict-1234',
      models: ['mistral-small-latest'],
      retired: ['devstral-2512'],
      contextWindow: 200,
    };
    await using server = await start({ text: 'Yes.' }, options);
    expect(await post(server, asked({}), 'sk-wrong')).toEqual({ status: 401, body: { detail: 'Unauthorized' } });
    expect(await post(server, asked({ model: 'devstral-2512' }))).toEqual({
      status: 400,
      body: error('Invalid model: devstral-2512', 'invalid_model', '1500'),
    });
    expect(await post(server, chat(user('x'.repeat(940))))).toEqual({
      status: 400,
      body: error(
        'Prompt contains 257 tokens and 0 draft tokens, too large for model with 200 maximum context length',
        'invalid_request_invalid_args',
        '3051',
      ),
    });
    expect(await post(server, asked({}))).toMatchObject({ status: 200 });
  });

  it("is read by OpenAI's client: thinking and text as chunks, calls, usage without asking", async () => {
    const calls = [{ name: 'read_file', args: { path: 'a' } }];
    const usage = { in: 100, out: 40, cached: 64 };
    await using server = await start({ reasoning: 'Let me see.', text: 'I look into the file, then I tell you.', calls, usage });
    const chunks = await read(server, asked({ reasoning_effort: 'high', tools: TOOLS }));
    expect(deltas(chunks, 'content')).toEqual([
      [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let me see.' }] }],
      [{ type: 'text', text: 'I look into the file, th' }],
      'en I tell you.',
    ]);
    expect(callsIn(chunks)[0]?.id).toMatch(/^[a-z0-9]{9}$/);
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 64 } });
    expect(deltas(await read(server, asked({})), 'content')).toEqual(['I look into the file, th', 'en I tell you.']);
  });

  it('finds a prompt in its cache only with the same key', async () => {
    await using server = await start();
    const long = chat(user('a'.repeat(8_000)));
    for (const key of [undefined, undefined, 'one', 'two'])
      await post(server, { ...long, ...(key && { prompt_cache_key: key }) });
    expect(server.billed.cached).toBe(0);
    await post(server, { ...long, prompt_cache_key: 'one' });
    expect(server.billed.cached).toBe(1984);
  });
});
