import { describe, expect, test } from 'vitest';
import type { ModelEvent, ModelRequest } from '../core/model.ts';
import { systemClock } from '../lib/clock.ts';
import { createWire } from '../llm/create.ts';
import { createFailure } from '../llm/failure.ts';
import { offeredModels } from '../llm/offered-models.ts';
import { type ModelConfig, resolveProvider } from '../llm/providers/resolve.ts';
import { jsonReply, startModelServer, stream, textPieces } from '../testing/model-server.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { withReplacement } from './replaced-model.ts';

const NOW = Date.parse('2026-11-22');
const KEY = 'sk-canary-7f3a9c51d2e8b604';
const REQUEST: ModelRequest = {
  messages: [{ id: 'u1', role: 'user', content: 'hi', timestamp: '2026-11-22T00:00:00Z' }],
  tools: [],
  context: { session: 's', channel: 'c', sender: 'c:1', purpose: 'turn' },
};

async function eventsOf(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function setup(offered: readonly string[] | Error, scripts: Readonly<Record<string, Script>>) {
  const created: string[] = [];
  const replaced: [string, string][] = [];
  let lists = 0;
  const model = withReplacement({
    provider: 'anthropic',
    model: 'claude-sonnet-5-5',
    create: (name) => {
      created.push(name);
      return scriptedModel(scripts[name] ?? [], { id: `anthropic/${name}` });
    },
    list: async () => {
      lists += 1;
      if (offered instanceof Error) throw offered;
      return offered;
    },
    onReplaced: (from, to) => replaced.push([from, to]),
    now: () => NOW,
  });
  const call = () => eventsOf(model.call(REQUEST, AbortSignal.timeout(10_000)));
  return { call, created, replaced, lists: () => lists };
}

const GONE: Script = () => ({ fail: 'model-gone' });

describe('a model found without a config', () => {
  test('that is gone is replaced by the newest of its family, in the same call and all later ones', async () => {
    const offered = ['claude-opus-5-5', 'claude-sonnet-4-6', 'claude-sonnet-5', 'claude-haiku-4-5'];
    const { call, created, replaced, lists } = setup(offered, { 'claude-sonnet-5-5': GONE, 'claude-sonnet-5': () => 'hello' });
    const events = await call();
    expect(events[0]).toEqual({
      ...{ type: 'switched', from: 'anthropic/claude-sonnet-5-5', to: 'anthropic/claude-sonnet-5' },
      reason: 'model-gone',
    });
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'hello' } });
    expect((await call()).at(-1)).toMatchObject({ type: 'done' });
    expect([created, replaced, lists()]).toEqual([
      ['claude-sonnet-5-5', 'claude-sonnet-5'],
      [['claude-sonnet-5-5', 'claude-sonnet-5']],
      1,
    ]);
  });

  test('is not told to be replaced by one that cannot be made, and a later call tries again', async () => {
    const replaced: [string, string][] = [];
    let isBroken = true;
    const model = withReplacement({
      ...{ provider: 'anthropic', model: 'claude-sonnet-5-5', list: async () => ['claude-sonnet-5'], now: () => NOW },
      create: (name) => {
        if (name === 'claude-sonnet-5' && isBroken) throw new Error('no such dialect');
        return scriptedModel(name === 'claude-sonnet-5' ? () => 'hello' : GONE, { id: `anthropic/${name}` });
      },
      onReplaced: (from, to) => replaced.push([from, to]),
    });
    const call = () => eventsOf(model.call(REQUEST, AbortSignal.timeout(10_000)));
    const [failed] = await call();
    expect(failed).toMatchObject({ type: 'failed', failure: { kind: 'model-gone' } });
    expect(JSON.stringify(failed)).toContain('claude-sonnet-5: no such dialect');
    expect(replaced).toEqual([]);
    isBroken = false;
    expect((await call()).at(-1)).toMatchObject({ type: 'done', answer: { text: 'hello' } });
    expect(replaced).toEqual([['claude-sonnet-5-5', 'claude-sonnet-5']]);
  });

  test('calls that find it out at the same time replace it once', async () => {
    const scripts = { 'claude-sonnet-5-5': GONE, 'claude-sonnet-5': () => 'hello' };
    const { call, replaced, lists } = setup(['claude-sonnet-5'], scripts);
    const all = await Promise.all([call(), call(), call()]);
    expect(all.map((events) => events.at(-1)?.type)).toEqual(['done', 'done', 'done']);
    expect([replaced.length, lists()]).toEqual([1, 1]);
  });

  test('whose replacement is gone as well gets the next one', async () => {
    const scripts = { 'claude-sonnet-5-5': GONE, 'claude-sonnet-5': GONE, 'claude-haiku-5-5': () => 'hello' };
    const { call, replaced } = setup(['claude-sonnet-5', 'claude-haiku-5-5'], scripts);
    expect((await call()).at(-1)).toMatchObject({ type: 'done' });
    expect(replaced.map(([, to]) => to)).toEqual(['claude-sonnet-5', 'claude-haiku-5-5']);
  });

  test('fails with what there is when nothing that is offered has a price', async () => {
    const { call, replaced } = setup(['claude-sonnet-5-5', 'mystery-1', 'mystery-2'], { 'claude-sonnet-5-5': GONE });
    const [only] = await call();
    expect(only).toMatchObject({ type: 'failed', failure: { kind: 'model-gone', code: 'GH2117' } });
    expect(only?.type === 'failed' && only.failure.message).toMatch(/; the provider has mystery-1, mystery-2$/);
    expect(replaced).toEqual([]);
  });

  test('fails as it did when the provider has no list, and asks for it again with the next call', async () => {
    const { call, lists } = setup(new Error('the list of models was answered with status 404'), { 'claude-sonnet-5-5': GONE });
    for (const at of [1, 2]) {
      const [only] = await call();
      expect(only?.type === 'failed' && only.failure.message).toContain('answered with status 404');
      expect(lists()).toBe(at);
    }
  });

  test('is replaced three times at most, so that no server leads us through all models to the dearest', async () => {
    const offered = ['claude-opus-5-5', 'claude-sonnet-4-6', 'claude-sonnet-5', 'claude-haiku-4-5', 'claude-fable-5-1'];
    const all = Object.fromEntries(['claude-sonnet-5-5', ...offered].map((name) => [name, GONE]));
    const { call, replaced } = setup(offered, all);
    expect((await call()).at(-1)).toMatchObject({ type: 'failed', failure: { kind: 'model-gone' } });
    expect((await call()).at(-1)).toMatchObject({ type: 'failed', failure: { kind: 'model-gone' } });
    expect(replaced).toHaveLength(3);
  });

  test('takes back what it had said before it was found to be gone', async () => {
    const gone = { ...createFailure('model-gone', { message: 'gone' }) };
    const { call } = setup(['claude-sonnet-5'], {
      'claude-sonnet-5-5': () => ({
        events: [
          { type: 'text', text: 'half ' },
          { type: 'failed', failure: gone },
        ],
      }),
      'claude-sonnet-5': () => 'whole',
    });
    expect((await call()).map(({ type }) => type)).toEqual(['text', 'switched', 'restart', 'text', 'done']);
  });

  test('quotes of hostile names what a line of a log can hold', async () => {
    const { call } = setup([`x\n${'y'.repeat(1_000_000)}`], { 'claude-sonnet-5-5': GONE });
    const [only] = await call();
    expect(only?.type === 'failed' && only.failure.message.length).toBeLessThan(1_000);
    expect(only?.type === 'failed' && only.failure.message).not.toContain('\n');
  });

  test('is not replaced for any other failure', async () => {
    const { call, lists } = setup(['claude-sonnet-5'], { 'claude-sonnet-5-5': () => ({ fail: 'bad-request' }) });
    expect(await call()).toMatchObject([{ type: 'failed', failure: { kind: 'bad-request' } }]);
    expect(lists()).toBe(0);
  });
});

describe('the list of a provider', () => {
  const target = (config: ModelConfig) => resolveProvider(config);
  const list = async (config: ModelConfig, body: unknown) => {
    await using server = await startModelServer({ script: () => jsonReply(body) });
    const models = await offeredModels(target({ ...config, base_url: `${server.url}/v1` }), KEY, AbortSignal.timeout(5_000));
    const [request] = server.requests;
    return { models, path: request?.path, headers: request?.headers };
  };

  test.each(['openai', 'groq'])('of %s is asked for with its key, and what is not active is left out', async (provider) => {
    const body = { object: 'list', data: [{ id: 'a' }, { id: 'b', active: false }, { id: 'c', active: true }, {}, null] };
    const { models, path, headers } = await list({ provider, model: 'm' }, body);
    expect([models, path, headers?.authorization]).toEqual([['a', 'c'], '/v1/models', `Bearer ${KEY}`]);
  });

  test('of anthropic is one page of a thousand', async () => {
    const { models, path, headers } = await list({ provider: 'anthropic' }, { data: [{ id: 'claude-a' }], has_more: false });
    expect([models, path]).toEqual([['claude-a'], '/v1/models?limit=1000']);
    expect(headers).toMatchObject({ 'x-api-key': KEY, 'anthropic-version': '2023-06-01' });
    expect(headers).not.toHaveProperty('authorization');
  });

  test('of gemini names them with a prefix', async () => {
    const { models, path, headers } = await list({ provider: 'gemini' }, { models: [{ name: 'models/gemini-a' }] });
    expect([models, path, headers?.['x-goog-api-key']]).toEqual([['gemini-a'], '/v1/models?pageSize=1000', KEY]);
  });

  test('of a million models is refused before it is read', async () => {
    const data = Array.from({ length: 1_000_000 }, (_, n) => ({ id: `model-${n}` }));
    await expect(list({ provider: 'groq', model: 'm' }, { data })).rejects.toThrow('longer than 8000000 bytes');
  });

  test('that is an error or no list is refused', async () => {
    await expect(list({ provider: 'groq', model: 'm' }, { error: 'no' })).rejects.toThrow('the list of models is none');
    await using server = await startModelServer({ script: () => ({ status: 404, pieces: [] }) });
    const groq = target({ provider: 'groq', model: 'm', base_url: server.url });
    await expect(offeredModels(groq, KEY, AbortSignal.timeout(5_000))).rejects.toThrow('status 404');
  });
});

test('over a real wire the answer comes from the replacement', async () => {
  await using server = await startModelServer({
    script: ({ method }) =>
      method === 'GET'
        ? jsonReply({ data: [{ id: 'openai/gpt-oss-20b' }, { id: 'whisper-large-v3' }] })
        : stream(textPieces('from the other one')),
  });
  const at = { provider: 'groq', base_url: `${server.url}/v1` };
  const deps = { clock: systemClock, timeouts: { connectMs: 5_000, totalMs: 10_000 } };
  const model = withReplacement({
    provider: 'groq',
    model: 'openai/gpt-oss-120b',
    create: (name) =>
      name === 'openai/gpt-oss-120b' ? scriptedModel(GONE) : createWire(resolveProvider({ ...at, model: name }), KEY, deps),
    list: (signal) => offeredModels(resolveProvider({ ...at, model: 'm' }), KEY, signal),
    onReplaced: () => undefined,
    now: () => NOW,
  });
  const events = await eventsOf(model.call(REQUEST, AbortSignal.timeout(10_000)));
  expect(events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'from the other one', model: 'openai/gpt-oss-20b' } });
  expect(server.requests.map(({ path, body }) => [path, body['model']])).toEqual([
    ['/v1/models', undefined],
    ['/v1/chat/completions', 'openai/gpt-oss-20b'],
  ]);
});
