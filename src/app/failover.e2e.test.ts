// Two models behind the real daemon: what people read, what the operator is told, what is booked.
import { expect, test } from 'vitest';
import { cliJson } from '../testing/cli-json.ts';
import { chunk, errorReply, type ModelServerOptions, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const PRICED = { model_hints: { price: { in: 10, out: 100 } } };

async function twoModels(script: ModelServerOptions['script'], more: object = {}) {
  const spare = await startModelServer({ script: () => stream(textPieces('from ', 'the spare')) });
  const fallback = { provider: 'vllm', model: 'spare', base_url: `${spare.url}/v1`, ...PRICED };
  const at = await telegramScene({ ...(script ? { script } : {}), config: { ...PRICED, fallback_models: [fallback], ...more } });
  return {
    at,
    spare,
    [Symbol.asyncDispose]: async () => {
      await at[Symbol.asyncDispose]();
      await spare[Symbol.asyncDispose]();
    },
  };
}

test('F25 a refused key of the main model: the spare answers without that key, and the operator is told code and fix', async () => {
  await using scene = await twoModels(() => errorReply(401, { message: 'no' }));
  const { at, spare } = scene;
  await using daemon = await at.start();
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts()).toEqual(['from the spare']);
  expect(spare.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  const line = daemon
    .stderr()
    .split('\n')
    .find((text) => text.includes('model.passed-over'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({
    level: 'warn',
    model: 'openai/m',
    code: 'GH2101',
    detail: expect.stringContaining('401'),
    hint: expect.stringContaining('key'),
  });
});

test('hedge: the model that is asked in vain is cut off and booked, the other one answers once', async () => {
  const slow: ModelServerOptions['script'] = () => stream([chunk({ role: 'assistant', content: '' }), ''], { gapMs: 5_000 });
  await using scene = await twoModels(slow, { adaptive_routing: { mode: 'hedge' } });
  const { at } = scene;
  await using daemon = await at.start();
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts()).toEqual(['from the spare']);
  expect(at.model.requests.map(({ cut }) => cut)).toEqual([true]);
  const { groups } = (await cliJson(at.dir, ['usage', '--by', 'model'])) as { groups: { key: string }[] };
  expect(groups).toMatchObject([
    { key: 'openai/m', calls: 1, tokensOut: 0 },
    { key: 'vllm/spare', calls: 1, tokensOut: 2 },
  ]);
  expect(daemon.stderr()).not.toContain('passed-over');
});

test('A29 a key that would travel unencrypted stops the start, and is named where that is meant; on this machine it may', async () => {
  const far = {
    fallback_models: [{ provider: 'openai', model: 'far', base_url: 'http://192.0.2.1/v1', api_key_env: 'TEST_KEY' }],
  };
  await using refused = await twoModels(undefined, far);
  await using none = await refused.at.spawn();
  expect(await none.ended).toEqual({ code: 78, signal: null });
  expect(none.stderr()).toMatch(/base_url: sends the key .* unencrypted to 192\.0\.2\.1 \[model-in-clear\]/);
  await using scene = await twoModels(undefined, { ...far, security: { accept: ['model-in-clear'] } });
  await using daemon = await scene.at.start();
  await daemon.ready();
  const told = daemon
    .stderr()
    .split('\n')
    .filter((line) => line.includes('model.plain-text'));
  expect(told).toEqual([expect.stringMatching(/"openai\/far".*\(TEST_KEY\).*192\.0\.2\.1 unencrypted/)]);
});

test('where only fallback_models are configured the first of them answers, and not the demo', async () => {
  await using scene = await twoModels(undefined, { provider: undefined, model: undefined, base_url: undefined });
  const { at } = scene;
  await using daemon = await at.start({ env: { OLLAMA_HOST: '127.0.0.1:9' } });
  await daemon.ready();
  expect(daemon.stderr()).toContain('vllm/spare from the config');
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts()).toEqual(['from the spare']);
});
