// A rate limit as a person in a chat sees it: the whole stack from wire to chat, on a clock that runs twenty
// times as fast.
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { systemClock } from '../lib/clock.ts';
import { detectModel } from '../llm/detect.ts';
import { MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { errorReply, type ModelServerOptions, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import type { DaemonOptions } from './daemon.ts';
import { createModelStack } from './model-stack.ts';

const SPEED = 20;
const fast = new SteadyClock(SPEED);

async function limited(dataDir: string, script: NonNullable<ModelServerOptions['script']>) {
  const server = await startModelServer({ script });
  const settings = { provider: 'openai', model: 'm', base_url: `${server.url}/v1`, api_key_env: 'TEST_KEY' };
  const config = configSchema.parse({ ...settings, budget: { daily_usd: 1 }, model_hints: { price: { in: 0, out: 0 } } });
  const env = { TEST_KEY: 'sk-test' };
  const storedKey = async () => undefined;
  const signal = AbortSignal.timeout(10_000);
  const found = { config, env, storedKey, fetch, clock: systemClock, signal, hasBudget: true };
  const logger = new MemoryLogger();
  const model: DaemonOptions['model'] = async ({ journal, emit, operator }) =>
    await createModelStack({
      ...{ config, journal, emit, operator, logger, env, clock: fast, fallbacks: [] },
      detected: await detectModel(found),
      login: async () => undefined,
      secret: (name) => name,
    });
  const rig = await testDaemon({ dataDir, model: scriptedModel([]), daemon: { model } });
  return {
    ...rig,
    server,
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const answer = () => stream(textPieces('at', ' last'));
const tooMany = (seconds: number) => errorReply(429, { message: 'slow down' }, { 'retry-after': String(seconds) });

test('F24 a 429 with Retry-After: the chat hears how long, then the answer comes; another chat of the same key hears it too', async () => {
  await using dir = await tempDir();
  await using at = await limited(dir.path, (_request, index) => (index === 0 ? tooMany(40) : answer()));
  await at.channel.deliver({ chatId: 'first', text: 'one' });
  await until('the first waits', () => at.channel.texts('first').length === 1);
  await at.channel.deliver({ chatId: 'second', text: 'two' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts('first')).toEqual(['The AI model is busy. Your answer will come in about 40 s.', 'at last']);
  expect(at.channel.texts('second')).toEqual([expect.stringMatching(/^The AI model is busy.* in about [2-4]\d s\.$/), 'at last']);
  expect(at.server.requests).toHaveLength(3);
});

test('F24 a wait of a few seconds is not worth a word', async () => {
  await using dir = await tempDir();
  await using at = await limited(dir.path, (_request, index) => (index === 0 ? tooMany(5) : answer()));
  await at.channel.deliver({ text: 'one' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()).toEqual(['at last']);
});

test('F24 a limit of minutes is no wait but an answer: it says when to ask again', async () => {
  await using dir = await tempDir();
  await using at = await limited(dir.path, () => tooMany(300));
  await at.channel.deliver({ text: 'one' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()).toEqual([expect.stringMatching(/too many requests.*in 5 min\. \(GH2102\)$/)]);
});
