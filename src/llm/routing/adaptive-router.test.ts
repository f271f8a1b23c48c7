import { describe, expect, test } from 'vitest';
import type { Model, ModelEvent, ModelFacts } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { type Script, type ScriptedModel, scriptedModel } from '../../testing/scripted-model.ts';
import { collect, modelContract, modelRequest, streamedText } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { createFailure } from '../failure.ts';
import { type AdaptiveRouterOptions, createAdaptiveRouter, type RoutingMode } from './adaptive-router.ts';
import type { ModelCatalogFile } from './model-catalog.ts';
import type { Slot } from './slot.ts';

const live = new AbortController().signal;
const facts = (price: number): ModelFacts => ({
  maxOutputTokens: 1,
  vision: true,
  tools: true,
  price: { in: price, out: price },
});

interface Setup {
  readonly options?: Partial<AdaptiveRouterOptions>;
  readonly slot?: Readonly<Record<string, Partial<Slot>>>;
  readonly prices?: Readonly<Record<string, number>>;
}

function setup(scripts: Readonly<Record<string, Script>>, { options = {}, slot = {}, prices = {} }: Setup = {}) {
  const clock = new FakeClock();
  const models: ScriptedModel[] = Object.entries(scripts).map(([id, script]) => {
    const model = scriptedModel(script, { id, clock });
    const price = prices[id];
    return price === undefined ? model : { ...model, facts: facts(price) };
  });
  const slots = models.map((model): Slot => ({ model, ...slot[model.id] }));
  // 0.5: never a probe, whose share is 0.1.
  const router = createAdaptiveRouter(slots, { clock, random: () => 0.5, ...options });
  const ask = async () => {
    const result = collect(router.call(modelRequest('hi'), live));
    await clock.advance(10_000);
    return await result;
  };
  return { clock, router, ask, calls: () => models.map((model) => model.requests.length) };
}

const answerer = (events: readonly ModelEvent[]): string => {
  const last = events.at(-1);
  return last?.type === 'done' ? `${last.answer.provider}/${last.answer.model}` : 'failed';
};

for (const mode of ['off', 'lane', 'hedge'] satisfies RoutingMode[]) {
  modelContract(`router (${mode})`, async () => {
    const dead = scriptedModel(() => ({ fail: 'server' }), { id: 'a/dead' });
    const slots = [{ model: dead }, { model: createDemoModel({ clock: systemClock }) }];
    const router = createAdaptiveRouter(slots, { clock: systemClock, random: Math.random, mode, onExport: () => undefined });
    return {
      model: router,
      answered: modelRequest('hello'),
      slow: modelRequest('/demo stream'),
      [Symbol.asyncDispose]: () => router[Symbol.asyncDispose](),
    };
  });
}

describe('choice of the first model (spec B5)', () => {
  test('off: the first in the order of the config whose circuit is closed', async () => {
    const { ask, calls } = setup({ 'a/1': () => ({ fail: 'server' }), 'b/2': () => 'hi' }, { options: { mode: 'off' } });
    for (let i = 0; i < 4; i += 1) expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([3, 4]);
  });

  test('lane: the lowest score, here the faster and cheaper one although it comes later', async () => {
    const answer = (delayMs: number) => () => ({ text: 'hi', delayMs, usage: { tokensIn: 1, tokensOut: 100, tokensCached: 0 } });
    const { ask, router, calls } = setup(
      { 'a/slow': answer(8_000), 'b/fast': answer(500) },
      { prices: { 'a/slow': 20, 'b/fast': 1 }, options: { random: () => 0.05 } },
    );
    await ask(); // on a catalog price alone
    await ask(); // a probe of the other one
    await ask();
    expect(answerer(await ask())).toBe('b/fast');
    const [slow, fast] = router.snapshot();
    expect(slow?.score).toBeGreaterThan(fast?.score ?? 1);
    expect(calls()[1]).toBeGreaterThan(calls()[0] ?? 0);
  });

  test('lane: with probability 0.1 a model not used for a minute is probed, the one longest unused', async () => {
    let random = 0.5;
    const scripts = { 'a/1': () => 'hi', 'b/2': () => 'hi', 'c/3': () => 'hi' };
    const { ask, clock, calls } = setup(scripts, { options: { random: () => random } });
    await ask();
    random = 0.0999;
    await ask();
    await ask();
    expect(calls()).toEqual([1, 1, 1]);
    await ask();
    expect(calls()).toEqual([2, 1, 1]);
    await clock.advance(60_000);
    await ask();
    expect(calls()).toEqual([2, 2, 1]);
    random = 0.1;
    await ask();
    expect(calls()).toEqual([3, 2, 1]);
  });

  test('with every circuit open the one with the fewest failures in a row is asked', async () => {
    const sick = () => ({ fail: 'server' }) as const;
    let healed = false;
    const { router, ask, calls } = setup(
      { 'a/1': sick, 'b/2': () => (healed ? 'hi' : sick()) },
      { options: { mode: 'off', failureThreshold: 1 } },
    );
    await ask();
    healed = true;
    expect(router.snapshot().map(({ circuit }) => circuit)).toEqual(['open', 'open']);
    expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([2, 2]);
  });

  test('F25 lane: after the interval one call tries an open model, whatever its score; its success brings it back', async () => {
    let healed = false;
    const { ask, clock, router, calls } = setup({ 'a/1': () => (healed ? 'back' : { fail: 'server' }), 'b/2': () => 'hi' });
    for (let i = 0; i < 3; i += 1) await ask();
    // Its score is worse by now, and nothing but failures made its circuit open.
    while (router.snapshot()[0]?.circuit === 'closed') {
      await clock.advance(61_000);
      await ask();
    }
    const before = calls()[0] ?? 0;
    healed = true;
    await clock.advance(60_000);
    expect(answerer(await ask())).toBe('a/1');
    expect(calls()[0]).toBe(before + 1);
    expect(router.snapshot()[0]?.circuit).toBe('closed');
  });

  test('qos ranking puts the better quality first among equals, and can be set at run time', async () => {
    const slot = { 'a/1': { catalog: { dsOutput: 1 } }, 'b/2': { catalog: { dsOutput: 9 } } };
    // No term but priority differs, and that by nothing: equals.
    const weights = { latency: 0, error: 0, priority: 0, cost: 0 };
    const { ask, router } = setup({ 'a/1': () => 'hi', 'b/2': () => 'hi' }, { slot, options: { weights } });
    expect(answerer(await ask())).toBe('a/1');
    router.setQosRanking(true);
    expect(answerer(await ask())).toBe('b/2');
  });

  test('the mode can be set at run time', async () => {
    const { ask, router, calls } = setup(
      { 'a/1': () => 'hi', 'b/2': () => ({ text: 'ho', delayMs: 5 }) },
      { options: { mode: 'off' } },
    );
    await ask();
    router.setMode('hedge');
    await ask();
    expect([router.mode, calls()]).toEqual(['hedge', [2, 1]]);
  });
});

describe('failover and attribution', () => {
  test('in every mode the rest is tried in score order, with an event for each switch', async () => {
    const scripts = { 'a/1': () => ({ fail: 'network' }) as const, 'b/dear': () => 'dear', 'c/cheap': () => 'cheap' };
    const prices = { 'a/1': 1, 'b/dear': 50, 'c/cheap': 1 };
    const { ask } = setup(scripts, { prices, options: { mode: 'off' } });
    const events = await ask();
    expect(events[0]).toEqual({ type: 'switched', from: 'a/1', to: 'c/cheap', reason: 'network' });
    expect(answerer(events)).toBe('c/cheap');
  });

  test('open circuits are the last resort, not out of the question', async () => {
    const { ask, calls } = setup(
      { 'a/1': ['hi', { fail: 'server' }], 'b/2': [{ fail: 'server' }, 'saved'] },
      { options: { mode: 'off', failureThreshold: 1 } },
    );
    const other = setup(
      { 'a/1': [{ fail: 'server' }, { fail: 'server' }], 'b/2': ['one', { fail: 'server' }], 'c/3': ['two'] },
      { options: { mode: 'off', failureThreshold: 1 } },
    );
    await ask();
    expect(calls()).toEqual([1, 0]);
    await other.ask();
    expect(answerer(await other.ask())).toBe('c/3');
    expect(other.calls()).toEqual([1, 2, 1]);
  });

  test('F25 a stream that breaks late is charged to the model that served it', async () => {
    const cut = createFailure('malformed', { message: 'cut' });
    const broken = {
      events: [
        { type: 'text', text: 'par' },
        { type: 'failed', failure: cut },
      ],
    } as const;
    const { ask, router } = setup({ 'a/1': () => broken, 'b/2': () => 'whole' }, { options: { mode: 'off' } });
    const events = await ask();
    expect(events.map(({ type }) => type)).toEqual(['text', 'switched', 'restart', 'text', 'done']);
    expect(streamedText(events)).toBe('whole');
    await ask();
    await ask();
    const [a, b] = router.snapshot();
    expect(a).toMatchObject({ failures: 3, successes: 0, circuit: 'open', latencyMs: null });
    expect(b).toMatchObject({ failures: 0, successes: 3 });
  });

  test('F29 an answer without text or calls is passed on, but the third one sends the next try elsewhere', async () => {
    const { ask, calls } = setup({ 'a/1': () => ({ text: '' }), 'b/2': () => 'hi' }, { options: { mode: 'off' } });
    for (let i = 0; i < 3; i += 1) expect(answerer(await ask())).toBe('a/1');
    expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([3, 1]);
  });

  test('F26 a refused key is asked three times in all, then once a minute, however many calls there are', async () => {
    const { ask, clock, calls } = setup({ 'a/1': () => ({ fail: 'auth' }), 'b/2': () => 'hi' }, { options: { mode: 'off' } });
    const all: Promise<unknown>[] = [];
    for (let i = 0; i < 50; i += 1) all.push(ask());
    await Promise.all(all);
    const start = calls()[0] ?? 0;
    for (let i = 0; i < 60; i += 1) {
      await ask(); // 10 s each
    }
    expect(calls()[1]).toBe(110);
    expect((calls()[0] ?? 0) - start).toBeLessThanOrEqual(11);
    await clock.advance(0);
  });

  test('a call that was cancelled is not recorded, and frees the trial it held', async () => {
    const { router, clock } = setup({ 'a/1': () => ({ hang: true }), 'b/2': () => 'hi' }, { options: { mode: 'off' } });
    const stop = new AbortController();
    const result = collect(router.call(modelRequest('hi'), stop.signal));
    await clock.advance(1);
    stop.abort(new Error('stop'));
    expect(await result).toMatchObject([{ failure: { kind: 'aborted' } }]);
    expect(router.snapshot()[0]).toMatchObject({ successes: 0, failures: 0, consecutiveFailures: 0 });
  });

  test('a consumer that leaves early closes the stream and leaves no record', async () => {
    const clock = new FakeClock();
    let closed = false;
    const model: Model = {
      id: 'a/1',
      contextWindow: 1,
      async *call() {
        try {
          yield { type: 'text', text: 'a' };
          yield { type: 'text', text: 'b' };
        } finally {
          closed = true;
        }
      },
    };
    const router = createAdaptiveRouter([{ model }], { clock, random: () => 0.5 });
    for await (const event of router.call(modelRequest('hi'), live)) if (event.type === 'text') break;
    expect(closed).toBe(true);
    expect(router.snapshot()[0]).toMatchObject({ successes: 0, failures: 0 });
  });

  test('the time a consumer takes between two events is not counted as the latency of the model', async () => {
    const { router, clock } = setup({ 'a/1': () => ({ chunks: ['a', 'b'], delayMs: 100 }) });
    const events = router.call(modelRequest('hi'), live)[Symbol.asyncIterator]();
    const first = events.next();
    await clock.advance(100);
    await first;
    await clock.advance(5_000);
    while (!(await events.next()).done);
    expect(router.snapshot()[0]).toMatchObject({ latencyMs: 100, firstTokenMs: 100, successes: 1 });
  });
});

describe('what is known before and after', () => {
  test('catalog and baseline count from the first call on, in the choice and in the status', async () => {
    const slot = {
      'a/1': { catalog: { stability: 0.2 } },
      'b/2': { catalog: { stability: 1 }, baseline: { stability: 1, averageMs: 700, p95Ms: 1_500 } },
    };
    const { ask, router } = setup({ 'a/1': () => 'hi', 'b/2': () => 'hi' }, { slot });
    expect(router.snapshot()[1]).toMatchObject({ successes: 10, latencyMs: 700, p95Ms: 1_500, idleMs: null });
    expect(answerer(await ask())).toBe('b/2');
  });

  test('a model nobody knows is not taken for a failing one', () => {
    const { router } = setup({ 'a/1': () => 'hi', 'b/2': () => 'hi' }, { slot: { 'a/1': { catalog: { stability: 0.9 } } } });
    const [a, b] = router.snapshot();
    // 0.03 for the stability of a, 0.1 for the place of b.
    expect((b?.score ?? 0) - (a?.score ?? 0)).toBeCloseTo(0.07);
  });

  test('live values are exported every 30 s until the router is disposed, which may happen twice', async () => {
    const exports: ModelCatalogFile[] = [];
    const { router, clock, ask } = setup(
      { 'a/1': () => 'hi' },
      { options: { onExport: (file) => exports.push(file) }, slot: { 'a/1': { catalog: { stability: 0.5, type: 'fast' } } } },
    );
    await ask();
    await clock.advance(19_999);
    expect(exports).toEqual([]);
    await clock.advance(1);
    await clock.advance(30_000);
    expect(exports).toHaveLength(2);
    expect(exports[0]?.models[0]).toMatchObject({ provider: 'a/1', type: 'fast', stability: 0.55, context_window: 128_000 });
    await router[Symbol.asyncDispose]();
    await router[Symbol.asyncDispose]();
    await clock.advance(60_000);
    expect(exports).toHaveLength(2);
  });
});
