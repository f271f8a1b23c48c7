// The whole program with a key of the environment, at a provider that has taken the default model away.
import { expect, test } from 'vitest';
import { errorReply, jsonReply, type Reply, stream } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const OWNER = 77;

/** The pieces of an answer on the Anthropic wire. */
function anthropicPieces(model: string, text: string): string[] {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage };
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function serverThatHas(models: readonly string[]) {
  return ({ method, body }: { method: string; body: Readonly<Record<string, unknown>> }): Reply => {
    if (method === 'GET') return jsonReply({ data: models.map((id) => ({ id, type: 'model' })), has_more: false });
    const model = String(body['model']);
    if (models.includes(model)) return stream(anthropicPieces(model, `from ${model}`));
    return errorReply(404, { type: 'not_found_error', message: `model: ${model}` });
  };
}

const UNCHOSEN = { provider: undefined, model: undefined, base_url: undefined };
const OWNED = { owner: [{ channel: 'telegram', chat_id: String(OWNER) }] };

test.concurrent('a default model that is gone is replaced: every message is answered, the owner told once, the status names both', async () => {
  const script = serverThatHas(['claude-sonnet-5', 'claude-haiku-4-5']);
  await using at = await telegramScene({ script, config: UNCHOSEN, gateway: OWNED });
  await using daemon = await at.start({ env: { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: at.model.url } });
  await daemon.ready();
  for (const text of ['one', 'two']) at.platform.inject({ text });
  const { model } = await daemon.settled(2);
  expect(at.texts().filter((text) => text === 'from claude-sonnet-5')).toHaveLength(2);
  expect(model).toMatchObject({ id: 'anthropic/claude-sonnet-5-5', replacedBy: 'anthropic/claude-sonnet-5' });
  const told = at.texts(OWNER).filter((text) => text.startsWith('⚠️'));
  expect(told).toEqual([expect.stringContaining('anthropic/claude-sonnet-5 answers in its place')]);
});

test.concurrent('what takes the place of a model is reached as the config says', async () => {
  const config = { ...UNCHOSEN, extra_headers: { 'X-Team': 'gate' }, extra_body: { metadata: { user_id: 'u' } } };
  await using at = await telegramScene({ script: serverThatHas(['claude-sonnet-5']), config, gateway: OWNED });
  await using daemon = await at.start({ env: { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: at.model.url } });
  await daemon.ready();
  at.platform.inject({ text: 'one' });
  await daemon.settled(1);
  const calls = at.model.requests.filter(({ method }) => method === 'POST');
  expect(calls.map(({ headers, body }) => [body['model'], headers['x-team'], body['metadata']])).toEqual([
    ['claude-sonnet-5-5', 'gate', { user_id: 'u' }],
    ['claude-sonnet-5', 'gate', { user_id: 'u' }],
  ]);
});

test.concurrent('without a model that will do the message fails with its code, and the log lists what there is', async () => {
  await using at = await telegramScene({ script: serverThatHas(['mystery-1']), config: UNCHOSEN, gateway: OWNED });
  await using daemon = await at.start({ env: { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: at.model.url } });
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts().filter((text) => !text.startsWith('⚠️'))).toEqual([expect.stringContaining('GH2117')]);
  const told = at.texts(OWNER).filter((text) => text.startsWith('⚠️'));
  expect(told).toEqual([expect.stringContaining('does not have anthropic/claude-sonnet-5-5')]);
  expect(daemon.stderr()).toContain('the provider has mystery-1');
});

test.concurrent('a model that the config chose is never replaced', async () => {
  const config = { ...UNCHOSEN, provider: 'anthropic', model: 'claude-sonnet-5-5' };
  await using at = await telegramScene({ script: serverThatHas(['claude-sonnet-5']), config });
  await using daemon = await at.start({
    config: { ...at.config, base_url: at.model.url },
    env: { ANTHROPIC_API_KEY: 'sk-test' },
  });
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts()).toEqual([expect.stringContaining('GH2117')]);
  expect(at.model.requests.every(({ method }) => method === 'POST')).toBe(true);
});
