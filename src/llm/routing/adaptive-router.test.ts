import { describe, expect, test } from 'vitest';
import type { Model, ModelEvent, ModelFacts } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { type Script, type ScriptedModel, scriptedModel } from '../../testing/scripted-model.ts';
import { collect, modelContract, modelRequest, streamedText } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { createFailure } from '../failure.ts';
import { type AdaptiveRouterOptions, createAdaptiveRouter, type RoutingMode } from './adaptive-router.ts';
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
    const router = createAdaptiveRouter(slots, { clock: systemClock, random: Math.random, mode });
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
    expect(calls()).toEqual([2, 4]);
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
    const bad = { fail: 'server' } as const;
    const scripts = { 'a/1': () => bad, 'b/2': [bad, { fail: 'bad-request' } as const, 'saved'] };
    const { router, ask, calls } = setup(scripts, { options: { mode: 'off', failureThreshold: 1 } });
    await ask();
    expect(router.snapshot().map(({ circuit }) => circuit)).toEqual(['open', 'open']);
    await ask(); // not counted against b
    expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([2, 3]);
  });

  test('F25 lane: after the interval one call tries an open model, however bad its score; its success closes the circuit', async () => {
    let random = 0.05;
    const { ask, clock, router, calls } = setup(
      { 'a/1': () => 'hi', 'b/2': [{ fail: 'server' }, 'back', 'again'] },
      { prices: { 'a/1': 1, 'b/2': 50 }, options: { failureThreshold: 1, random: () => random } },
    );
    expect(answerer(await ask())).toBe('a/1'); // a probe of b that failed
    random = 0.5;
    expect(router.snapshot()[1]?.circuit).toBe('open');
    await clock.advance(49_999);
    await ask();
    expect(calls()[1]).toBe(1);
    expect(answerer(await ask())).toBe('b/2');
    expect(router.snapshot()[1]?.circuit).toBe('closed');
    expect(answerer(await ask())).toBe('a/1');
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
    const [a, b] = router.snapshot();
    expect(a).toMatchObject({ failures: 2, successes: 0, circuit: 'open', latencyMs: null });
    expect(b).toMatchObject({ failures: 0, successes: 2 });
  });

  test('F29 an answer without text or calls is passed on, but the second one sends the next try elsewhere', async () => {
    const { ask, calls } = setup({ 'a/1': () => ({ text: '' }), 'b/2': () => 'hi' }, { options: { mode: 'off' } });
    for (let i = 0; i < 2; i += 1) expect(answerer(await ask())).toBe('a/1');
    expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([2, 1]);
  });

  test('F26 a refused key is asked twice in all, then once a minute, however many calls there are', async () => {
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

  test('a call that was cancelled is not recorded, whatever the model calls it', async () => {
    const clock = new FakeClock();
    const model: Model = {
      id: 'a/1',
      contextWindow: 1,
      async *call(_request, signal) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        yield { type: 'failed', failure: createFailure('network', { message: 'socket closed' }) };
      },
    };
    const router = createAdaptiveRouter([{ model }], { clock, random: () => 0.5 });
    const stop = new AbortController();
    const result = collect(router.call(modelRequest('hi'), stop.signal));
    await clock.advance(1);
    stop.abort(new Error('stop'));
    expect(await result).toMatchObject([{ failure: { kind: 'aborted' } }]);
    expect(router.snapshot()[0]).toMatchObject({ successes: 0, failures: 0, consecutiveFailures: 0 });
  });

  test('a consumer that leaves in the middle of a trial frees its place', async () => {
    const { router, ask, clock, calls } = setup(
      { 'a/1': [{ fail: 'server' }, 'leave', 'back'] },
      { options: { mode: 'off', failureThreshold: 1 } },
    );
    await ask();
    await clock.advance(60_000);
    for await (const event of router.call(modelRequest('hi'), live)) if (event.type === 'text') break;
    expect(router.snapshot()[0]?.circuit).toBe('half-open');
    expect(answerer(await ask())).toBe('a/1');
    expect(calls()).toEqual([3]);
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
