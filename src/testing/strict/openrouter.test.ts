import { describe, expect, it } from 'vitest';
import { errorInside200, openrouter } from './openrouter.ts';
import { asks, type Body, callsIn, deltas, expectRule, post, read, result, user } from './strict-client.ts';
import { type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';

const start = (turn: Turn = { text: 'It is empty.' }, options: StrictServerOptions = {}) =>
  startStrictServer(openrouter, () => turn, options);
const GEMINI = 'google/gemini-3.8-flash';
const CLAUDE = 'anthropic/claude-opus-5.5';
const chat = (model: string, ...messages: readonly object[]): Body => ({ model, messages });
const asked = (fields: Body): Body => ({ ...chat(GEMINI, user()), ...fields });
const CALLS: Turn = {
  text: 'I look.',
  calls: [
    { name: 'read_file', args: { path: 'a' } },
    { name: 'read_file', args: { path: 'b' } },
  ],
};

function error(code: number, message: string): Body {
  return { error: { message, code } };
}

function hostError(raw: string, provider_name: string): Body {
  const metadata = { raw, provider_name, is_byok: false };
  return { error: { message: 'Provider returned error', code: 400, metadata }, user_id: 'user_strict' };
}

function google(message: string): string {
  return `${JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }, null, 2)}\n`;
}

const CORRUPTED = hostError(google('Corrupted thought signature.'), 'Google AI Studio');

interface Detail {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
}

/** What a client has to send back of an answer. */
async function answered(server: Parameters<typeof read>[0], model: string) {
  const chunks = await read(server, chat(model, user()));
  const pieces = (deltas(chunks, 'reasoning_details') as Detail[][]).flat();
  const text = pieces.map((piece) => piece.text ?? '').join('');
  const calls = callsIn(chunks);
  const message = { role: 'assistant', content: deltas(chunks, 'content').join(''), tool_calls: calls };
  const results = calls.map(({ id }) => result(id));
  return { pieces, text, message, results, ids: calls.map(({ id }) => id) };
}

describe('the strict server of OpenRouter', () => {
  it('refuses Gemini calls of the current turn without the signature it issued', async () => {
    await using server = await start(CALLS);
    const { pieces, message, results } = await answered(server, GEMINI);
    expect(pieces.filter(({ type }) => type === 'reasoning.encrypted')).toHaveLength(1);
    const raw = google(
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:read_file` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
    );
    const advice =
      'Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks. Upstream error: ';
    await expectRule(server, {
      bad: chat(GEMINI, user(), message, ...results),
      good: chat(GEMINI, user(), { ...message, reasoning_details: pieces }, ...results),
      status: 400,
      body: hostError(`${advice}${raw}`, 'Google AI Studio'),
    });
  });

  it('counts Gemini calls of earlier turns, and calls of other providers, that have no signature', async () => {
    await using server = await start(CALLS);
    const { message, results } = await answered(server, GEMINI);
    const said = { role: 'assistant', content: 'Both are empty.' };
    expect(await post(server, chat(GEMINI, user(), message, ...results, said, user('And now?')))).toMatchObject({ status: 200 });
    expect(await post(server, chat(GEMINI, user(), asks('call_1'), result('call_1')))).toMatchObject({ status: 200 });
    expect(server.counts).toEqual({ 'earlier calls unsigned': 1, 'foreign calls unsigned': 1 });
  });

  it('refuses Gemini details that are changed, cut, or of another origin', async () => {
    await using server = await start(CALLS);
    const { pieces, message, results } = await answered(server, GEMINI);
    const body = (details: readonly object[]): Body =>
      chat(GEMINI, user(), { ...message, reasoning_details: details }, ...results);
    const changed = pieces.map((piece) => (piece.text === undefined ? piece : { ...piece, text: 'Something else' }));
    await expectRule(server, { bad: body(changed), good: body(pieces), status: 400, body: CORRUPTED });
    const signature = pieces.filter(({ data }) => data !== undefined);
    expect(await post(server, body(signature))).toEqual({ status: 400, body: CORRUPTED });
    const forged = { type: 'reasoning.encrypted', data: 'c2lnbmVk', format: 'google-gemini-v1', index: 0 };
    const foreign = chat(GEMINI, user(), { ...asks('call_1'), reasoning_details: [forged] }, result('call_1'));
    expect(await post(server, foreign)).toEqual({ status: 400, body: CORRUPTED });
  });

  it('refuses Claude details in the pieces of the stream, and accepts none', async () => {
    await using server = await start({ ...CALLS, reasoning: 'Two files: I read both of them.' });
    const { pieces, text, message, results } = await answered(server, CLAUDE);
    expect(pieces.length).toBeGreaterThan(2);
    const whole = Object.assign({}, ...pieces);
    const body = (fields: object): Body => chat(CLAUDE, user(), { ...message, ...fields }, ...results);
    await expectRule(server, {
      bad: body({ reasoning_details: pieces }),
      good: body({ reasoning_details: [{ ...whole, text }] }),
      status: 400,
      body: hostError(
        JSON.stringify({
          type: 'error',
          error: { type: 'invalid_request_error', message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
        }),
        'Anthropic',
      ),
    });
    expect(await post(server, body({}))).toMatchObject({ status: 200 });
  });

  it('refuses Kimi calls without reasoning, in the words of Moonshot', async () => {
    await using server = await start();
    const body = (fields: object): Body => chat('moonshotai/kimi-k3', user(), { ...asks('call_1'), ...fields }, result('call_1'));
    const message = 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1';
    await expectRule(server, {
      bad: body({}),
      good: body({ reasoning: '' }),
      status: 400,
      body: hostError(JSON.stringify({ error: { message, type: 'invalid_request_error' } }), 'Moonshot AI'),
    });
  });

  it('refuses a call without its result and a result without its call, in the words of the host', async () => {
    await using server = await start();
    const model = 'z-ai/glm-5.3';
    const wrapped = (message: string): Body =>
      hostError(JSON.stringify({ error: { message, type: 'invalid_request_error' } }), 'Host');
    await expectRule(server, {
      bad: chat(model, user(), asks('call_1'), user()),
      good: chat(model, user(), asks('call_1'), result('call_1'), user()),
      status: 400,
      body: wrapped(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
      ),
    });
    await expectRule(server, {
      bad: chat(model, user(), result('call_1')),
      good: chat(model, user()),
      status: 400,
      body: wrapped("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
    });
  });

  it('refuses two ways at once to say how much to think', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ reasoning: { effort: 'high', max_tokens: 2_000 } }),
      good: asked({ reasoning: { effort: 'high' } }),
      status: 400,
      body: error(400, 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified'),
    });
    await expectRule(server, {
      bad: asked({ reasoning: { effort: 'high' }, reasoning_effort: 'low' }),
      good: asked({ reasoning: { effort: 'high' }, reasoning_effort: 'high' }),
      status: 400,
      body: error(400, 'Only one of "reasoning" and "reasoning_effort" may be provided'),
    });
  });

  it('names what it refuses of keys, models and windows in its own words', async () => {
    const options = { apiKey: 'sk-strict-1234', models: [GEMINI, 'a/gone'], retired: ['a/gone'], contextWindow: 200 };
    await using server = await start({ text: 'Yes.' }, options);
    expect(await post(server, asked({}), 'sk-wrong')).toEqual({ status: 401, body: error(401, 'User not found.') });
    expect(await post(server, asked({}), '')).toEqual({ status: 401, body: error(401, 'No auth credentials found') });
    expect(await post(server, asked({ model: 'a/gone' }))).toEqual({
      status: 404,
      body: error(404, 'No endpoints found for a/gone.'),
    });
    expect(await post(server, asked({ model: 'a/b' }))).toEqual({ status: 400, body: error(400, 'a/b is not a valid model ID') });
    expect(await post(server, asked({ max_tokens: 190 }))).toEqual({
      status: 400,
      body: error(
        400,
        'This endpoint\'s maximum context length is 200 tokens. However, you requested about 222 tokens (32 of text input, 190 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
      ),
    });
    expect(await post(server, asked({}))).toMatchObject({ status: 200 });
  });

  it("is read by OpenAI's client: comments, reasoning twice, cost", async () => {
    const usage = { in: 100, out: 40, cached: 64, cacheWrite: 20, reasoning: 15 };
    await using server = await start({
      reasoning: 'Let me see.',
      text: 'Yes.',
      usage,
      costUsd: 0.0123,
      silentMs: 20,
      signsOfLife: true,
    });
    const chunks = await read(server, asked({}));
    expect(deltas(chunks, 'reasoning')).toEqual(['Let me see.']);
    expect(deltas(chunks, 'reasoning_details')).toEqual([
      [{ type: 'reasoning.text', text: 'Let me see.', format: 'google-gemini-v1', index: 0 }],
    ]);
    expect(deltas(chunks, 'content')).toEqual(['Yes.']);
    expect(chunks.at(-1)).toMatchObject({
      provider: 'Google AI Studio',
      usage: { cost: 0.0123, prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 20 } },
    });
    expect((await post(server, asked({}))).body).toMatch(/^: OPENROUTER PROCESSING\n\n/);
  });

  it('fails within a 200: in the body, and in the stream after text', async () => {
    const turns = [
      errorInside200(502, 'Provider disconnected'),
      { text: 'Half', error: { status: 502, message: 'Provider disconnected' } },
    ];
    await using server = await startStrictServer(openrouter, (_request, nth) => turns[nth] ?? {});
    expect(await post(server, asked({}))).toEqual({ status: 200, body: error(502, 'Provider disconnected') });
    const { status, body } = await post(server, asked({}));
    expect(status).toBe(200);
    expect(body).toContain(
      '"error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]',
    );
    expect(body).not.toContain('[DONE]');
    expect(server.refusals).toEqual([]);
  });
});
