import { describe, expect, it } from 'vitest';
import { asks, type Body, deltas, expectRule, post, read, result, user } from './strict-client.ts';
import { type StrictServerOptions, startStrictServer, type Turn } from './strict-server.ts';
import { xai } from './xai.ts';

const start = (turn: Turn = { text: 'It is empty.' }, options: StrictServerOptions = {}) =>
  startStrictServer(xai, () => turn, options);
const asked = (fields: Body): Body => ({ model: 'grok-4.6', messages: [user()], ...fields });

function error(text: string, code = 'Client specified an invalid argument'): Body {
  return { code, error: text };
}

describe('the strict server of xAI', () => {
  it('refuses levels, penalties and stop words that the model does not take', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ model: 'grok-4-latest', reasoning_effort: 'high' }),
      good: asked({ reasoning_effort: 'high' }),
      status: 400,
      body: error('Model grok-4-latest does not support parameter reasoningEffort.'),
    });
    await expectRule(server, {
      bad: asked({ model: 'grok-4.5', reasoning_effort: 'xhigh' }),
      good: asked({ model: 'grok-4.7', reasoning_effort: 'xhigh' }),
      status: 400,
      body: error('Invalid reasoning effort: xhigh. Supported values are: low, medium, high.'),
    });
    await expectRule(server, {
      bad: asked({ presence_penalty: 0 }),
      good: asked({ temperature: 0.2 }),
      status: 400,
      body: error('Model grok-4.6 does not support parameter presencePenalty.'),
    });
    expect(await post(server, asked({ frequency_penalty: 0 }))).toMatchObject({ status: 400 });
    expect(await post(server, asked({ stop: ['x'] }))).toMatchObject({ status: 400 });
  });

  it('refuses a call without its result, and a result without its call', async () => {
    await using server = await start();
    await expectRule(server, {
      bad: asked({ messages: [user(), asks('call_1'), user()] }),
      good: asked({ messages: [user(), asks('call_1'), result('call_1'), user()] }),
      status: 400,
      body: error(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
      ),
    });
    await expectRule(server, {
      bad: asked({ messages: [user(), result('call_1')] }),
      good: asked({}),
      status: 400,
      body: error("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
    });
  });

  it('names what it refuses of keys, models and windows in its own words', async () => {
    const options = { apiKey: 'sk-strict-1234', models: ['grok-4.6'], retired: ['grok-3'], contextWindow: 200 };
    await using server = await start({ text: 'Yes.' }, options);
    expect(await post(server, asked({}), 'xai-wrong')).toEqual({
      status: 400,
      body: error('Incorrect API key provided: xa***ng. You can obtain an API key from https://console.x.ai.'),
    });
    expect(await post(server, asked({ model: 'grok-3' }))).toMatchObject({
      status: 404,
      body: { code: 'Some requested entity was not found', error: expect.stringMatching(/^The model grok-3 does not exist/) },
    });
    expect(await post(server, asked({ messages: [user('x'.repeat(940))] }))).toEqual({
      status: 400,
      body: error("This model's maximum prompt length is 200 but the request contains 254 tokens."),
    });
    expect(await post(server, asked({}))).toMatchObject({ status: 200 });
  });

  it("is read by OpenAI's client: reasoning is counted beside the completion, the cost in ticks", async () => {
    const usage = { in: 10_120, out: 4_308, cached: 128, reasoning: 2_809 };
    await using server = await start({ reasoning: 'Hm.', text: 'Yes.', usage, costUsd: 0.0232856 });
    const chunks = await read(server, asked({}));
    expect(deltas(chunks, 'content')).toEqual(['Yes.']);
    expect(chunks.at(-1)?.usage).toMatchObject({
      prompt_tokens: 10_120,
      completion_tokens: 1_499,
      total_tokens: 14_428,
      prompt_tokens_details: { cached_tokens: 128 },
      completion_tokens_details: { reasoning_tokens: 2_809 },
      cost_in_usd_ticks: 232_856_000,
    });
    expect(server.billed).toMatchObject({ in: 10_120, out: 4_308 });
  });
});
