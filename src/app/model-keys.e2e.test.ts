// Keys, headers, purposes and levels of thinking as a model server sees them, through the real program.
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import type { ModelFacts, ModelRequest } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import type { ThinkingLevel } from '../core/session.ts';
import { systemClock } from '../lib/clock.ts';
import { collect, modelRequest } from '../llm/contract.ts';
import { detectModel } from '../llm/detect.ts';
import { resolveKey } from '../llm/providers/key.ts';
import { resolveProvider } from '../llm/providers/resolve.ts';
import { MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { usage } from '../testing/journal-rows.ts';
import { errorReply, type ModelServerOptions, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { telegramScene } from '../testing/telegram/scene.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { createModelStack } from './model-stack.ts';

const answer = () => stream(textPieces('answered'));
const KEYS = { api_key_env: undefined, api_key_envs: ['KEY_A', 'KEY_B', 'KEY_C'] };
const env = { KEY_A: 'sk-aaaaaaaa', KEY_B: 'sk-bbbbbbbb' };

/** Answers the key that is not in trouble. */
const inTrouble =
  (key: string, trouble: ReturnType<typeof errorReply>): NonNullable<ModelServerOptions['script']> =>
  ({ headers }) =>
    headers.authorization === `Bearer ${key}` ? trouble : answer();

test('F26 a refused key: the next one answers, the operator is told which variable, once, and no key is shown', async () => {
  const script = inTrouble('sk-aaaaaaaa', errorReply(401, { message: 'Incorrect API key provided: sk-aaaaaaaa' }));
  const gateway = { owner: [{ channel: 'telegram', chat_id: '77' }] };
  await using at = await telegramScene({ script, config: KEYS, gateway });
  await using daemon = await at.start({ env });
  for (const text of ['one', 'two']) at.platform.inject({ text });
  await daemon.settled(2);
  await until('the notice', () => at.texts(77).length > 0);
  expect(at.texts(1000)).toEqual(['answered', 'answered']);
  expect(at.texts(77)).toEqual([
    '⚠️ The provider of openai/m refused the key in KEY_A (GH2101); another key answers. Put a new one there and restart.',
  ]);
  expect(at.model.requests.map(({ headers }) => headers.authorization?.slice(-1))).toEqual(['a', 'b', 'b']);
  expect(daemon.stderr()).toContain('model.key-rests');
  expect(daemon.stderr()).not.toMatch(/sk-aaaa|sk-bbbb/);
});

test('F24 a key at its limit rests as long as its provider says, without a word to any user', async () => {
  const script = inTrouble('sk-aaaaaaaa', errorReply(429, { message: 'slow down' }, { 'retry-after': '40' }));
  const gateway = { owner: [{ channel: 'telegram', chat_id: '77' }] };
  await using at = await telegramScene({ script, config: KEYS, gateway });
  await using daemon = await at.start({ env });
  for (const text of ['one', 'two']) at.platform.inject({ text });
  await daemon.settled(2);
  expect(at.texts()).toEqual(['answered', 'answered']);
  expect(at.model.requests.map(({ headers }) => headers.authorization?.slice(-1))).toEqual(['a', 'b', 'b']);
});

test('extra headers and body fields go out with each request', async () => {
  const extra = { extra_headers: { 'X-Team': 'gate' }, extra_body: { provider: { order: ['a'] }, seed: 7 } };
  await using at = await telegramScene({ script: answer, config: extra });
  await using daemon = await at.start();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  const [request] = at.model.requests;
  expect(request?.headers).toMatchObject({ 'x-team': 'gate', authorization: 'Bearer sk-test', 'user-agent': 'gatehouse' });
  expect(request?.body).toMatchObject({ model: 'm', provider: { order: ['a'] }, seed: 7, messages: expect.any(Array) });
});

/** A main model `m`, and `c` by the name `cheap`, as the daemon has them. */
async function twoModels(cheapScript: ModelServerOptions['script'], more: object = {}, clock: Clock = systemClock) {
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await tempDir());
  const main = resources.use(await startModelServer({ script: () => stream(textPieces('main')) }));
  const cheap = resources.use(await startModelServer({ script: cheapScript ?? answer }));
  const entry = (url: string, model: string) => ({ provider: 'vllm', model, base_url: `${url}/v1` });
  const config = configSchema.parse({ ...entry(main.url, 'm'), models: { cheap: entry(cheap.url, 'c') }, ...more });
  const { journal } = resources.use(await testDaemon({ dataDir: dir.path, model: scriptedModel([]) })).daemon;
  const sources = { env: {}, storedKey: async () => undefined };
  const cheapTarget = resolveProvider(config.models['cheap'] ?? {});
  const stack = await createModelStack({
    ...{ config, env: {}, clock, logger: new MemoryLogger(), journal, emit: () => undefined },
    detected: await detectModel({ config, ...sources, fetch, clock: systemClock, signal: AbortSignal.timeout(10_000) }),
    ...{ fallbacks: [], named: [{ name: 'cheap', target: cheapTarget, key: await resolveKey(cheapTarget, sources) }] },
    operator: { owner: { exists: false, tell: async () => undefined }, approvals: {} } as never,
    ...{ login: async () => undefined, secret: (name) => name },
  });
  resources.use(stack);
  const owned = resources.move();
  return {
    ...{ stack, cheap, journal },
    async ask(purpose: string, asked: Partial<ModelRequest> = {}): Promise<string> {
      const request = modelRequest('hi');
      const events = await collect(
        stack.model.call({ ...request, ...asked, context: { ...request.context, purpose } }, new AbortController().signal),
      );
      const last = events.at(-1);
      return last?.type === 'done' ? last.answer.text : 'failed';
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

test('a call for a summary or a job goes to the model of that purpose, one that names a model to that, all others to the main one', async () => {
  const script = () => stream(textPieces('cheap'));
  await using at = await twoModels(script, { purposes: { summary: 'cheap' }, thinking: 'low' });
  const { ask } = at;
  expect([await ask('turn'), await ask('summary'), await ask('job')]).toEqual(['main', 'cheap', 'main']);
  expect([await ask('summary', { model: 'vllm/m' }), await ask('turn', { model: 'cheap' })]).toEqual(['main', 'cheap']);
  expect(await ask('constructor')).toBe('main');
  expect(await ask('turn', { model: 'unheard-of' })).toBe('main');
});

test('at the end a trial of a named model is over, and what it cost is in the ledger', async () => {
  const script: ModelServerOptions['script'] = (_request, index) =>
    index < 2 ? errorReply(401, { message: 'no' }) : stream([], { end: 'hang' });
  let laterMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + laterMs };
  await using at = await twoModels(script, {}, clock);
  for (let n = 0; n < 2; n += 1) expect(await at.ask('turn', { model: 'cheap' })).toBe('main');
  laterMs = 61_000;
  expect(await at.ask('turn', { model: 'cheap' })).toBe('main');
  await until('the trial', () => at.cheap.requests.length === 3);
  await at.stack[Symbol.asyncDispose]();
  await until('the end of the trial', () => at.cheap.requests[2]?.cut === true, 5_000);
  await at.journal.spend({ ...usage('last', systemClock.now()), model: 'last' });
  const models = await at.journal.spending({ since: 0, by: 'model' });
  expect(models.map(({ key, calls }) => [key, calls])).toEqual([
    ['p/last', 1],
    ['vllm/c', 1],
  ]);
});

test('what is tried when a call does not fit is as the section "budget" says that came while the daemon ran', async () => {
  await using at = await twoModels(answer, { model_hints: { price: { in: 1, out: 1_000 } } });
  const later = (steps?: readonly string[]) =>
    at.stack.setLimits?.(configSchema.parse({ budget: { daily_usd: 1, steps } }).budget);
  later();
  expect(await at.ask('turn')).toBe('main');
  later(['stop']);
  expect(await at.ask('turn')).toBe('failed');
});

test('the limit of the day is told as it is, also where nothing is left of another limit', async () => {
  await using at = await twoModels(answer, { budget: { daily_usd: 5, sender_usd: 0 } });
  expect(at.stack.daily?.()).toEqual({ spentUsd: 0, limitUsd: 5 });
});

test('/think is said to the model with every call from then on; the channel and the config come after it', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'thought');
  await using at = await testDaemon({ dataDir: dir.path, model, entry: { thinking: 'low' } });
  const say = async (text: string): Promise<[string | undefined, ThinkingLevel | undefined]> => {
    await at.channel.deliver({ text });
    await at.daemon.gateway.idle();
    return [at.channel.texts().at(-1), model.requests.at(-1)?.thinking];
  };
  expect(await say('one')).toEqual(['thought', 'low']);
  expect((await say('/think'))[0]).toMatch(/^Thinking: low, set for this channel in the config\./);
  expect((await say('/think HIGH'))[0]).toBe('From now on thinking is high here. `/think default` goes back.');
  expect(await say('two')).toEqual(['thought', 'high']);
  await say('/new --keep 0');
  expect(await say('three')).toEqual(['thought', 'high']);
  expect((await say('/think a lot'))[0]).toBe(
    'There is no level “a lot”. Nothing was changed. There are: off, low, medium, high, auto, default.',
  );
  await say('/think default');
  expect(await say('four')).toEqual(['thought', 'low']);
  await say('/think off');
  await say('/reset');
  expect(await say('five')).toEqual(['thought', 'low']);
  expect(model.requests).toHaveLength(5);
});

test.each([
  { thinking: ['on'], says: 'openai/m cannot be told how much to think: this will count when another model answers.' },
  { thinking: [], says: 'openai/m does not think: this will count when another model answers.' },
])('/think says that a level changes nothing at a model that has the levels $thinking', async ({ thinking, says }) => {
  await using dir = await tempDir();
  const facts: ModelFacts = { maxOutputTokens: 1_000, vision: false, tools: true, price: null, thinking };
  const model = { ...scriptedModel(() => 'thought'), id: 'openai/m', facts };
  await using at = await testDaemon({ dataDir: dir.path, model });
  const say = async (text: string): Promise<string | undefined> => {
    await at.channel.deliver({ text });
    await at.daemon.gateway.idle();
    return at.channel.texts().at(-1);
  };
  expect(await say('/think high')).toBe(`From now on thinking is high here. ${says} \`/think default\` goes back.`);
  expect(await say('/think')).toContain(says);
  expect(await say('/think auto')).not.toContain('another model');
});
