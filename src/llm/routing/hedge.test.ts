import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Model, ModelEvent } from '../../core/model.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { type Script, scriptedModel } from '../../testing/scripted-model.ts';
import { collect, modelRequest, streamedText } from '../contract.ts';
import { abortedFailure, createFailure } from '../failure.ts';
import { createAdaptiveRouter } from './adaptive-router.ts';

const live = new AbortController().signal;

function setup(scripts: Readonly<Record<string, Script>>) {
  const clock = new FakeClock();
  const models = Object.entries(scripts).map(([id, script]) => scriptedModel(script, { id, clock }));
  const slots = models.map((model) => ({ model }));
  const router = createAdaptiveRouter(slots, { clock, random: () => 0.5, mode: 'hedge' });
  const status = (id: string) => {
    const found = router.snapshot().find((slot) => slot.id === id);
    if (!found) throw new Error(`no slot ${id}`);
    return found;
  };
  const ask = (signal = live) => collect(router.call(modelRequest('hi'), signal));
  return { clock, router, ask, status, calls: () => models.map((model) => model.requests.length) };
}

/** Streams one text each `everyMs` on the clock; tells when it was aborted and when its stream was closed. */
function streaming(id: string, clock: FakeClock, everyMs: number, texts: readonly string[], end: 'done' | 'failed' = 'done') {
  const seen = { aborted: false, closed: false };
  const model: Model = {
    id,
    contextWindow: 1_000,
    async *call(_request, signal): AsyncGenerator<ModelEvent> {
      try {
        for (const text of texts) {
          await clock.sleep(everyMs, signal);
          yield { type: 'text', text };
        }
        if (end === 'failed') return yield { type: 'failed', failure: createFailure('malformed', { message: 'cut' }) };
        const [provider = '', name = ''] = id.split('/');
        const usage = { tokensIn: 1, tokensOut: 10, tokensCached: 0 };
        yield { type: 'done', answer: { text: texts.join(''), toolCalls: [], stop: 'end', usage, provider, model: name } };
      } catch {
        yield { type: 'failed', failure: abortedFailure() };
      } finally {
        seen.aborted = signal.aborted;
        seen.closed = true;
      }
    },
  };
  return { model, seen };
}

const types = (events: readonly ModelEvent[]) => events.map(({ type }) => type);

describe('hedge (spec B5)', () => {
  test('both are asked, the first token wins, and the other one is aborted, closed and not recorded', async () => {
    const clock = new FakeClock();
    const slow = streaming('a/slow', clock, 5_000, ['s']);
    const fast = streaming('b/fast', clock, 100, ['f', 'a']);
    await using router = createAdaptiveRouter([{ model: slow.model }, { model: fast.model }], {
      clock,
      random: () => 0.5,
      mode: 'hedge',
    });
    const result = collect(router.call(modelRequest('hi'), live));
    await clock.advance(100);
    expect(slow.seen).toEqual({ aborted: true, closed: true });
    await clock.advance(100);
    const events = await result;
    expect(events[0]).toEqual({ type: 'switched', from: 'a/slow', to: 'b/fast', reason: 'answered first' });
    expect(types(events)).toEqual(['switched', 'text', 'text', 'done']);
    const [a, b] = router.snapshot();
    expect(a).toMatchObject({ successes: 0, failures: 0, circuit: 'closed' });
    expect(b).toMatchObject({ successes: 1, firstTokenMs: 100, latencyMs: 200, tokensPerSecond: 50 });
  });

  test('reasoning is a first token too', async () => {
    const clock = new FakeClock();
    const thinker: Model = {
      id: 'a/1',
      contextWindow: 100_000,
      async *call(request, signal) {
        yield { type: 'reasoning', text: 'hm' };
        yield* streaming('a/1', clock, 500, ['whole']).model.call(request, signal);
      },
    };
    const other = streaming('b/2', clock, 10, ['b']);
    const router = createAdaptiveRouter([{ model: thinker }, { model: other.model }], {
      clock,
      random: () => 0.5,
      mode: 'hedge',
    });
    const result = collect(router.call(modelRequest('hi'), live));
    await clock.advance(500);
    expect(types(await result)).toEqual(['reasoning', 'text', 'done']);
  });

  /** Waits, as a model behind a rate limit does, then answers. */
  function waiter(id: string, clock: FakeClock, waitMs: number): Model {
    const { model } = streaming(id, clock, 1, [id]);
    return {
      ...model,
      async *call(request, signal) {
        yield { type: 'waiting', reason: 'rate-limit', waitMs };
        await clock.sleep(waitMs, signal).catch(() => undefined);
        yield* model.call(request, signal);
      },
    };
  }

  async function raced(models: (clock: FakeClock) => readonly Model[]): Promise<readonly ModelEvent[]> {
    const clock = new FakeClock();
    const slots = models(clock).map((model) => ({ model }));
    await using router = createAdaptiveRouter(slots, { clock, random: () => 0.5, mode: 'hedge' });
    const result = collect(router.call(modelRequest('hi'), live));
    await clock.advance(100_000);
    return await result;
  }

  test('F24 one that waits is not told while the other is at work', async () => {
    const events = await raced((clock) => [waiter('a/1', clock, 40_000), streaming('b/2', clock, 5_000, ['b']).model]);
    expect(types(events)).toEqual(['switched', 'text', 'done']);
  });

  test('F24 a wait is told once both are in one, with the shorter of the two', async () => {
    const events = await raced((clock) => [waiter('a/1', clock, 40_000), waiter('b/2', clock, 20_000)]);
    expect(types(events)).toEqual(['waiting', 'switched', 'text', 'done']);
    expect(events[0]).toEqual({ type: 'waiting', reason: 'rate-limit', waitMs: 20_000 });
  });

  test('F24 and with what is left of it when the other one fails meanwhile', async () => {
    const events = await raced((clock) => [
      waiter('a/1', clock, 40_000),
      scriptedModel([{ fail: 'server', delayMs: 15_000 }], { id: 'b/2', clock }),
    ]);
    expect(types(events)).toEqual(['waiting', 'text', 'done']);
    expect(events[0]).toMatchObject({ waitMs: 25_000 });
  });

  test('a call leaves no listener on the signal of its caller', async () => {
    const { ask } = setup({ 'a/1': ['hi'], 'b/2': ['ho'] });
    const caller = new AbortController();
    await ask(caller.signal);
    expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
  });

  test('F25 M11 the trial of a half-open circuit that lost the race goes on by itself; after a minute it is free again, also one that will not stop', async () => {
    const { clock, ask, calls, status } = setup({
      'a/1': () => ({ text: 'hi', delayMs: 10 }),
      'b/2': [{ fail: 'server' }, { fail: 'server' }, { hang: 'deaf' }, { hang: 'deaf' }],
    });
    const asked = async () => {
      const result = ask();
      await clock.advance(10);
      await result;
    };
    for (let i = 0; i < 3; i += 1) await asked();
    expect([calls(), status('b/2').circuit]).toEqual([[3, 2], 'open']);
    await clock.advance(60_000);
    for (let i = 0; i < 2; i += 1) await asked();
    expect([calls(), status('b/2').circuit]).toEqual([[5, 3], 'half-open']);
    await clock.advance(60_000);
    await asked();
    expect(calls()).toEqual([6, 4]);
  });

  test('an answer of a trial that was outrun is told, because its provider bills it', async () => {
    const clock = new FakeClock();
    const unused: string[] = [];
    // It asks for a tool, so nothing comes before the answer is whole.
    const play: Script = [{ fail: 'server' }, { fail: 'server' }, { text: '', toolCalls: [{ name: 't' }], delayMs: 50 }];
    const models = [
      scriptedModel(() => ({ text: 'hi', delayMs: 10 }), { id: 'a/1', clock }),
      scriptedModel(play, { id: 'b/2', clock }),
    ];
    await using router = createAdaptiveRouter(
      models.map((model) => ({ model })),
      {
        ...{ clock, random: () => 0.5, mode: 'hedge' },
        onUnused: (one, { purpose }) => unused.push(`${one.provider}/${one.model} ${purpose}`),
      },
    );
    const asked = async () => {
      const result = collect(router.call(modelRequest('hi'), live));
      await clock.advance(10);
      expect((await result).at(-1)).toMatchObject({ type: 'done', answer: { provider: 'a' } });
    };
    for (let i = 0; i < 2; i += 1) await asked();
    await clock.advance(60_000);
    await asked();
    expect(unused).toEqual([]);
    await clock.advance(50);
    expect(unused).toEqual([`b/2 ${modelRequest('hi').context.purpose}`]);
  });

  test('the main model winning is no switch', async () => {
    const { clock, ask } = setup({ 'a/1': [{ text: 'hi', delayMs: 10 }], 'b/2': [{ text: 'ho', delayMs: 20 }] });
    const result = ask();
    await clock.advance(10);
    expect(types(await result)).toEqual(['text', 'done']);
  });

  test('when the first to end has failed, the one under way is waited for and not asked again', async () => {
    const { clock, ask, calls, status } = setup({
      'a/1': [{ fail: 'server', delayMs: 10 }],
      'b/2': [{ text: 'ho', delayMs: 9_000 }],
    });
    const result = ask();
    await clock.advance(9_000);
    const events = await result;
    expect(events[0]).toMatchObject({ type: 'switched', reason: 'server' });
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: { provider: 'b' } });
    expect(calls()).toEqual([1, 1]);
    expect([status('a/1').failures, status('b/2').successes]).toEqual([1, 1]);
  });

  test('when both fail the rest is asked in turn', async () => {
    const { ask, calls } = setup({ 'a/1': [{ fail: 'server' }], 'b/2': [{ fail: 'auth' }], 'c/3': ['third'] });
    expect(types(await ask())).toEqual(['switched', 'text', 'done']);
    expect(calls()).toEqual([1, 1, 1]);
  });

  test('a winner that breaks later is charged for it, its text is taken back and the cancelled one is asked anew', async () => {
    const clock = new FakeClock();
    const winner = streaming('a/1', clock, 10, ['par'], 'failed');
    const loser = streaming('b/2', clock, 50, ['whole']);
    await using router = createAdaptiveRouter([{ model: winner.model }, { model: loser.model }], {
      clock,
      random: () => 0.5,
      mode: 'hedge',
    });
    const result = collect(router.call(modelRequest('hi'), live));
    await clock.advance(1_000);
    const events = await result;
    expect(types(events)).toEqual(['text', 'switched', 'restart', 'text', 'done']);
    expect(streamedText(events)).toBe('whole');
    expect(router.snapshot().map(({ failures }) => failures)).toEqual([1, 0]);
  });

  test('the alternate is of another provider, and the cheapest of those whose price is known', async () => {
    const clock = new FakeClock();
    const facts = (price: number | null) => ({
      maxOutputTokens: 1,
      vision: true,
      tools: true,
      price: price === null ? null : { in: price, out: price },
    });
    const prices = { 'a/main': 9, 'a/mini': 1, 'b/dear': 8, 'c/cheap': 2, 'd/unknown': null };
    const models = Object.entries(prices).map(([id, price]) => ({
      ...scriptedModel(() => ({ text: id, delayMs: id === 'a/main' ? 10 : 20 }), { id, clock }),
      facts: facts(price),
    }));
    const router = createAdaptiveRouter(
      models.map((model) => ({ model })),
      { clock, random: () => 0.5, mode: 'hedge' },
    );
    const result = collect(router.call(modelRequest('hi'), live));
    await clock.advance(10);
    await result;
    expect(models.map(({ requests }) => requests.length)).toEqual([1, 0, 0, 1, 0]);
  });

  test('without an alternate of another provider it is a plain call', async () => {
    const { ask, calls } = setup({ 'a/1': ['hi'], 'a/2': ['ho'] });
    await ask();
    expect(calls()).toEqual([1, 0]);
  });

  test('an abort before the first token ends the call at once, whatever the two models do', async () => {
    const { ask, status } = setup({ 'a/1': [{ hang: 'deaf' }], 'b/2': [{ hang: 'deaf' }] });
    const stop = new AbortController();
    const result = ask(stop.signal);
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('stop'));
    expect(await result).toEqual([{ type: 'failed', failure: expect.objectContaining({ kind: 'aborted' }) }]);
    expect([status('a/1').failures, status('b/2').failures]).toEqual([0, 0]);
  });

  test('disposing does not wait for ever for a model that will not stop', async () => {
    const { clock, ask, router } = setup({ 'a/1': [{ hang: 'deaf' }], 'b/2': ['hi'] });
    await ask();
    const disposed = router[Symbol.asyncDispose]();
    await clock.advance(2_000);
    await disposed;
  });

  test('property: whatever two models do and in whichever order, there is exactly one done or failed, and it is the last', async () => {
    const ms = fc.nat(50);
    const step = fc.oneof(
      fc.record({ do: fc.constant('text' as const), ms }),
      fc.record({ do: fc.constant('restart' as const), ms }),
      fc.record({ do: fc.constantFrom('done' as const, 'empty' as const, 'throw' as const, 'stop' as const), ms }),
      fc.record({
        do: fc.constant('failed' as const),
        ms,
        kind: fc.constantFrom('server' as const, 'bad-request' as const, 'budget' as const),
      }),
    );
    const play = fc.array(step, { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        play,
        play,
        fc.option(fc.nat(120), { nil: undefined }),
        fc.constantFrom('hedge' as const, 'hedge' as const, 'lane' as const, 'off' as const),
        async (first, second, abortAt, mode) => {
          const clock = new FakeClock();
          let open = 0;
          let opened = 0;
          const model = (id: string, steps: typeof first): Model => ({
            id,
            contextWindow: 1_000,
            async *call(_request, signal): AsyncGenerator<ModelEvent> {
              open += 1;
              opened += 1;
              try {
                for (const action of steps) {
                  try {
                    await clock.sleep(action.ms, signal);
                  } catch {
                    return yield { type: 'failed', failure: abortedFailure() };
                  }
                  if (action.do === 'throw') throw new Error('bug');
                  if (action.do === 'stop') return;
                  if (action.do === 'failed')
                    return yield { type: 'failed', failure: createFailure(action.kind, { message: 'x' }) };
                  if (action.do === 'done' || action.do === 'empty') {
                    const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
                    const text = action.do === 'done' ? id : '';
                    return yield { type: 'done', answer: { text, toolCalls: [], stop: 'end', usage, provider: id, model: id } };
                  }
                  yield action.do === 'text' ? { type: 'text', text: id } : { type: 'restart', reason: 'x' };
                }
              } finally {
                open -= 1;
              }
            },
          });
          const router = createAdaptiveRouter([{ model: model('a/1', first) }, { model: model('b/2', second) }], {
            clock,
            random: () => 0.5,
            mode,
          });
          const stop = new AbortController();
          const started = router.call(modelRequest('hi'), stop.signal);
          const result = collect(started);
          if (abortAt !== undefined) {
            await clock.advance(abortAt);
            stop.abort(new Error('stop'));
          }
          await clock.advance(1_000);
          const events = await result;
          expect(events.filter(({ type }) => type === 'done' || type === 'failed')).toHaveLength(1);
          expect(['done', 'failed']).toContain(events.at(-1)?.type);
          await router[Symbol.asyncDispose]();
          expect({ opened: opened > 0 || abortAt === 0, open }).toEqual({ opened: true, open: 0 });
        },
      ),
      { numRuns: 150 },
    );
  });
});
