import { describe, expect, test } from 'vitest';
import type { Model, ModelEvent } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { type Script, type ScriptedModelOptions, scriptedModel } from '../../testing/scripted-model.ts';
import { collect, modelContract, modelRequest, streamedText } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { createFailure } from '../failure.ts';
import { createChain } from './chain.ts';

const live = new AbortController().signal;

function setup(scripts: Readonly<Record<string, Script>>, options: ScriptedModelOptions = {}) {
  const clock = new FakeClock();
  const models = Object.entries(scripts).map(([id, script]) => scriptedModel(script, { id, clock, ...options }));
  const chain = createChain(
    models.map((model) => ({ model })),
    { clock },
  );
  const ask = () => collect(chain.call(modelRequest('hi'), live));
  return { clock, chain, ask, calls: () => models.map((model) => model.requests.length) };
}

const answerer = (events: readonly ModelEvent[]): string => {
  const last = events.at(-1);
  return last?.type === 'done' ? `${last.answer.provider}/${last.answer.model}` : `failed ${last?.type}`;
};

modelContract('chain', async () => ({
  model: createChain(
    [{ model: scriptedModel(() => ({ fail: 'server' }), { id: 'a/dead' }) }, { model: createDemoModel({ clock: systemClock }) }],
    {
      clock: systemClock,
    },
  ),
  answered: modelRequest('hello'),
  slow: modelRequest('/demo stream'),
  [Symbol.asyncDispose]: async () => undefined,
}));

describe('createChain (spec B4)', () => {
  test('a failure worth it goes on to the next model, and the switch is an event', async () => {
    const { ask } = setup({ 'a/1': () => ({ fail: 'auth' }), 'b/2': () => 'hello' });
    const events = await ask();
    expect(events[0]).toEqual({ type: 'switched', from: 'a/1', to: 'b/2', reason: 'auth' });
    expect(answerer(events)).toBe('b/2');
    expect(events.filter(({ type }) => type === 'restart')).toEqual([]);
  });

  test('text of a model that broke in the middle is taken back after the switch', async () => {
    const broken = createFailure('malformed', { message: 'cut' });
    const { ask } = setup({
      'a/1': [
        {
          events: [
            { type: 'text', text: 'par' },
            { type: 'failed', failure: broken },
          ],
        },
      ],
      'b/2': ['whole'],
    });
    const events = await ask();
    expect(events.map(({ type }) => type)).toEqual(['text', 'switched', 'restart', 'text', 'done']);
    expect(streamedText(events)).toBe('whole');
  });

  test('text that the model itself took back before it failed is not taken back again', async () => {
    const broken = createFailure('malformed', { message: 'cut' });
    const { ask } = setup({
      'a/1': [
        {
          events: [
            { type: 'text', text: 'par' },
            { type: 'restart', reason: 'server' },
            { type: 'failed', failure: broken },
          ],
        },
      ],
      'b/2': ['whole'],
    });
    expect((await ask()).map(({ type }) => type)).toEqual(['text', 'restart', 'switched', 'text', 'done']);
  });

  test('another failure is returned at once', async () => {
    const { ask, calls } = setup({ 'a/1': () => ({ fail: 'bad-request' }), 'b/2': () => 'hello' });
    expect((await ask()).at(-1)).toMatchObject({ type: 'failed', failure: { kind: 'bad-request' } });
    expect(calls()).toEqual([1, 0]);
  });

  test('F25 a model that failed twice in a row is degraded: later calls do not ask it first', async () => {
    const { ask, calls } = setup({ 'a/1': () => ({ fail: 'server' }), 'b/2': () => 'hello' });
    for (let i = 0; i < 5; i += 1) expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([2, 5]);
  });

  test('a success zeroes the counter', async () => {
    const server = { fail: 'server' } as const;
    const { ask, calls } = setup({ 'a/1': [server, 'ok', server, 'ok'], 'b/2': () => 'hello' });
    for (let i = 0; i < 4; i += 1) await ask();
    expect(calls()).toEqual([4, 2]);
  });

  test('after the first attempt degraded models are skipped while a healthy one is left, and used when none is', async () => {
    const { ask, calls } = setup({ 'a/1': () => ({ fail: 'server' }), 'b/2': () => ({ fail: 'server' }), 'c/3': () => 'hello' });
    for (let i = 0; i < 2; i += 1) await ask();
    expect(calls()).toEqual([2, 2, 2]);
    await ask();
    expect(calls()).toEqual([2, 2, 3]);
  });

  test('a degraded model is passed over by a failover too', async () => {
    const bad = { fail: 'server' } as const;
    const { ask, calls } = setup({ 'a/1': [bad, 'ok', bad, 'ok', bad], 'b/2': [bad, bad], 'c/3': () => 'hello' });
    for (let i = 0; i < 5; i += 1) await ask();
    expect(calls()).toEqual([5, 2, 3]);
  });

  test('the walk goes round: from the one that failed to the end, then from the beginning', async () => {
    const bad = { fail: 'server' } as const;
    const { ask } = setup({ 'a/1': () => bad, 'b/2': [bad, bad, 'ok', bad, bad], 'c/3': () => bad });
    for (let i = 0; i < 4; i += 1) await ask();
    const switches = (await ask()).flatMap((event) => (event.type === 'switched' ? [`${event.from} ${event.to}`] : []));
    expect(switches).toEqual(['b/2 c/3', 'c/3 a/1']);
  });

  test('of degraded models the one with fewer failures in a row is asked first', async () => {
    const bad = { fail: 'server' } as const;
    const { ask, calls } = setup({ 'a/1': () => bad, 'b/2': [bad, bad, bad, { fail: 'bad-request' }, 'saved'] });
    for (let i = 0; i < 4; i += 1) await ask();
    expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([4, 5]);
  });

  test('with all degraded it starts with the fewest failures in a row, and still asks everyone', async () => {
    let healed = false;
    const sick = () => (healed ? 'back' : ({ fail: 'server' } as const));
    const { ask, calls } = setup({ 'a/1': sick, 'b/2': sick });
    for (let i = 0; i < 4; i += 1) expect((await ask()).at(-1)?.type).toBe('failed');
    expect(calls()).toEqual([4, 4]);
    healed = true;
    expect(answerer(await ask())).toBe('a/1');
  });

  test('F25 M11 a degraded model is tried after a minute beside a healthy one, which answers, and is the first again when it is back', async () => {
    let healed = false;
    const { ask, clock, calls } = setup({
      'a/1': () => (healed ? { text: 'back', delayMs: 5_000 } : { fail: 'server', delayMs: 5_000 }),
      'b/2': () => 'hello',
    });
    for (let i = 0; i < 2; i += 1) {
      const failing = ask();
      await clock.advance(5_000);
      await failing;
    }
    await clock.advance(60_000);
    const asked = async () => answerer(await ask());
    expect([await asked(), await asked()]).toEqual(['b/2', 'b/2']);
    // One call for both, and no more of it once it was seen to fail.
    await clock.advance(5_000);
    expect([await asked(), calls()]).toEqual(['b/2', [3, 5]]);
    healed = true;
    await clock.advance(60_000);
    expect(await asked()).toBe('b/2');
    await clock.advance(5_000);
    const back = ask();
    await clock.advance(5_000);
    expect([answerer(await back), calls()]).toEqual(['a/1', [5, 6]]);
  });

  test('M11 a trial that is as quick as the healthy model answers itself', async () => {
    let healed = false;
    const { ask, clock } = setup({
      'a/1': () => (healed ? { text: 'back', delayMs: 10 } : { fail: 'server' }),
      'b/2': () => (healed ? { text: 'slow', delayMs: 4_000 } : 'hello'),
    });
    for (let i = 0; i < 2; i += 1) await ask();
    healed = true;
    await clock.advance(60_000);
    const result = ask();
    await clock.advance(10);
    expect(answerer(await result)).toBe('a/1');
  });

  test('M11 a trial that hangs holds no message up, is given up after a minute, and ends with the chain', async () => {
    const { ask, clock, calls, chain } = setup({
      'a/1': [{ fail: 'server' }, { fail: 'server' }, { hang: 'deaf' }, { hang: true }],
      'b/2': () => 'hello',
    });
    for (let i = 0; i < 2; i += 1) await ask();
    await clock.advance(60_000);
    for (let i = 0; i < 3; i += 1) expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([3, 5]);
    await clock.advance(60_000);
    expect(answerer(await ask())).toBe('b/2');
    expect(calls()).toEqual([4, 6]);
    const closed = chain[Symbol.asyncDispose]();
    await clock.advance(2_000);
    await closed;
  });

  test('M11 a model whose first token takes far longer than that of another is left like one that fails', async () => {
    const { ask, clock } = setup({
      'a/1': [{ fail: 'server' }, ...Array.from({ length: 9 }, () => ({ text: 'slow', delayMs: 12_000 }))],
      'b/2': () => ({ text: 'quick', delayMs: 300 }),
    });
    const asked = async () => {
      const result = ask();
      await clock.advance(12_000);
      return answerer(await result);
    };
    // A failure, which gave the other one a figure, and a slow answer make two.
    expect([await asked(), await asked(), await asked(), await asked()]).toEqual(['b/2', 'a/1', 'b/2', 'b/2']);
  });

  test('M11 a slow model is kept while the other one is away', async () => {
    const { ask, clock, chain } = setup({
      'a/1': ['quick', { fail: 'server' }, { fail: 'server' }, { fail: 'server' }, { fail: 'server' }, { fail: 'server' }],
      'b/2': () => ({ text: 'slow', delayMs: 15_000 }),
    });
    for (let i = 0; i < 6; i += 1) {
      const result = ask();
      await clock.advance(15_000);
      expect(answerer(await result)).toBe(i === 0 ? 'a/1' : 'b/2');
    }
    expect(chain.snapshot()[1]?.circuit).toBe('closed');
  });

  test('M11 a model that thinks is slow on purpose and stays', async () => {
    const clock = new FakeClock();
    const facts = { maxOutputTokens: 1, vision: true, tools: true, price: null, thinking: ['low', 'high'] };
    const thinker = { ...scriptedModel(() => ({ text: 'deep', delayMs: 90_000 }), { id: 'a/1', clock }), facts };
    const chain = createChain([{ model: thinker }, { model: scriptedModel(() => 'quick', { id: 'b/2' }) }], { clock });
    for (let i = 0; i < 4; i += 1) {
      const result = collect(chain.call(modelRequest('hi'), live));
      await clock.advance(90_000);
      expect(answerer(await result)).toBe('a/1');
    }
  });

  test('F21 requests that are wrong in themselves do not degrade a model', async () => {
    const { ask, calls } = setup({ 'a/1': () => ({ fail: 'bad-request' }), 'b/2': () => 'hello' });
    for (let i = 0; i < 5; i += 1) await ask();
    expect(calls()).toEqual([5, 0]);
  });

  test('F26 a refused key and an empty account cost one call each, and the failure names everyone', async () => {
    const { ask, calls } = setup({ 'a/1': () => ({ fail: 'auth' }), 'b/2': () => ({ fail: 'payment' }) });
    expect((await ask()).at(-1)).toMatchObject({
      failure: { kind: 'auth', message: 'scripted auth; also failed: b/2 (payment)' },
    });
    expect(calls()).toEqual([1, 1]);
  });

  test('a refusal by our own budget goes on to the next model and is told only when there is nothing else to tell', async () => {
    const budget = { fail: 'budget' } as const;
    const cheap = setup({ 'a/1': () => budget, 'b/2': () => 'cheap' });
    expect(answerer(await cheap.ask())).toBe('b/2');
    const both = setup({ 'a/1': () => budget, 'b/2': () => budget });
    expect((await both.ask()).at(-1)).toMatchObject({ failure: { kind: 'budget' } });
    const other = setup({ 'a/1': () => budget, 'b/2': () => ({ fail: 'server' }) });
    expect((await other.ask()).at(-1)).toMatchObject({ failure: { kind: 'server' } });
  });

  test('a request too long for one model goes to a larger one only', async () => {
    const clock = new FakeClock();
    const models = [
      scriptedModel(() => ({ fail: 'context-length' }), { id: 'a/1', contextWindow: 1_000 }),
      scriptedModel(() => 'small', { id: 'b/2', contextWindow: 1_000 }),
      scriptedModel(() => 'large', { id: 'c/3', contextWindow: 9_000 }),
    ];
    const chain = createChain(
      models.map((model) => ({ model })),
      { clock },
    );
    expect(answerer(await collect(chain.call(modelRequest('hi'), live)))).toBe('c/3');
    expect(models[1]?.requests).toEqual([]);
    expect(chain.contextWindow).toBe(1_000);
  });

  test('a model that cannot take the request is passed over: window, pictures, tools', async () => {
    const clock = new FakeClock();
    const facts = { maxOutputTokens: 100, vision: false, tools: false, price: null };
    const plain = scriptedModel(() => 'plain', { id: 'a/plain', contextWindow: 100 });
    const able = scriptedModel(() => 'able', { id: 'b/able' });
    const chain = createChain([{ model: { ...plain, facts } }, { model: able }], { clock });
    const ask = async (request = modelRequest('hi')) => answerer(await collect(chain.call(request, live)));
    expect(await ask()).toBe('a/plain');
    expect(await ask(modelRequest('x'.repeat(1_000)))).toBe('b/able');
    expect(await ask(modelRequest('see', { images: new Map([['u', [{ mime: 'image/png', base64: '' }]]]) }))).toBe('b/able');
    expect(await ask(modelRequest('do', { tools: [{ name: 't', description: '', parameters: {} }] }))).toBe('b/able');
  });

  test('a model without tools does not begin a call with tools while the main model is left alone', async () => {
    const clock = new FakeClock();
    const facts = { maxOutputTokens: 100, vision: true, tools: false, price: null };
    const failures = [1, 2].values();
    const main = scriptedModel(() => (failures.next().done ? 'back' : { fail: 'server' }), { clock, id: 'a/main' });
    const spare = { ...scriptedModel(() => ({ fail: 'bad-request' }), { clock, id: 'b/spare' }), facts };
    const chain = createChain([{ model: main }, { model: spare }], { clock, failureThreshold: 2 });
    const request = modelRequest('do', { tools: [{ name: 't', description: '', parameters: {} }] });
    const ask = async () => (await collect(chain.call(request, live))).at(-1);
    await ask();
    await ask();
    expect(chain.snapshot()[0]).toMatchObject({ circuit: 'open' });
    expect(await ask()).toMatchObject({ type: 'done', answer: { text: 'back' } });
  });

  test('F24 when nobody else is left, a Retry-After within a minute is waited for once', async () => {
    const limited = { fail: createFailure('rate-limit', { message: 'slow down', retryAfterMs: 7_000 }) };
    const { ask, clock, calls } = setup({ 'a/1': [limited, 'late'], 'b/2': () => ({ fail: 'server' }) });
    const result = ask();
    await clock.advance(6_999);
    expect(calls()).toEqual([1, 1]);
    await clock.advance(1);
    expect(answerer(await result)).toBe('a/1');
  });

  test('F24 a long wait of that kind is told before it begins', async () => {
    const limited = { fail: createFailure('rate-limit', { message: 'slow down', retryAfterMs: 30_000 }) };
    const { ask, clock } = setup({ 'a/1': [limited, 'late'], 'b/2': () => ({ fail: 'server' }) });
    const result = ask();
    await clock.advance(30_000);
    const events = (await result).filter(({ type }) => type !== 'text');
    expect(events.map(({ type }) => type)).toEqual(['switched', 'waiting', 'switched', 'done']);
    expect(events[1]).toEqual({ type: 'waiting', reason: 'rate-limit', waitMs: 30_000 });
  });

  test('F24 it is waited for once per call, and that is no switch where the model is the only one', async () => {
    const limited = { fail: createFailure('rate-limit', { message: 'slow down', retryAfterMs: 7_000 }) };
    const { ask, clock, calls } = setup({ 'a/1': () => limited });
    const result = ask();
    await clock.advance(60_000);
    expect(await result).toMatchObject([{ type: 'failed', failure: { kind: 'rate-limit', retryAfterMs: 7_000 } }]);
    expect(calls()).toEqual([2]);
  });

  test('an abort ends the call with aborted and asks nobody else', async () => {
    const { chain, calls } = setup({ 'a/1': () => ({ hang: true }), 'b/2': () => 'hello' });
    const stop = new AbortController();
    const result = collect(chain.call(modelRequest('hi'), stop.signal));
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('stop'));
    expect(await result).toEqual([{ type: 'failed', failure: expect.objectContaining({ kind: 'aborted' }) }]);
    expect(calls()).toEqual([1, 0]);
  });

  test('a model that throws before it has a stream is a failure like any other', async () => {
    const broken: Model = {
      id: 'a/1',
      contextWindow: 1_000,
      call() {
        throw new Error('bug');
      },
    };
    const chain = createChain([{ model: broken }, { model: scriptedModel(['hi'], { id: 'b/2' }) }], { clock: new FakeClock() });
    expect(answerer(await collect(chain.call(modelRequest('hi'), live)))).toBe('b/2');
  });

  test('a model that throws or ends without an outcome is a failure like any other', async () => {
    const { ask } = setup({
      'a/1': [
        () => {
          throw new Error('bug');
        },
      ],
      'b/2': [{ events: [] }],
      'c/3': ['hello'],
    });
    const events = await ask();
    expect(events.map((event) => (event.type === 'switched' ? event.reason : event.type))).toEqual([
      'malformed',
      'malformed',
      'text',
      'done',
    ]);
  });
});
