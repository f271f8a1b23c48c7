import { describe, expect, test } from 'vitest';
import type { FailureKind, Model, ModelEvent } from '../core/model.ts';
import { systemClock } from '../lib/clock.ts';
import { FakeClock } from '../testing/fakes.ts';
import { collect, modelContract, modelRequest, streamedText } from './contract.ts';
import { createDemoModel } from './demo.ts';
import { createFailure, type FailureDetails } from './failure.ts';
import { createRetryGate, type RetryInfo, withRetry } from './retry.ts';

const failed = (kind: FailureKind, details: Partial<FailureDetails> = {}): ModelEvent => ({
  type: 'failed',
  failure: createFailure(kind, { message: kind, ...details }),
});

const done = (text: string): ModelEvent => ({
  type: 'done',
  answer: { text, toolCalls: [], stop: 'end', usage: { tokensIn: 1, tokensOut: 1, tokensCached: 0 }, provider: 'p', model: 'm' },
});

/** Answers the n-th call with the n-th list, then with the last one again. */
function scripted(...calls: ModelEvent[][]): Model & { calls: () => number } {
  let count = 0;
  return {
    id: 'p/m',
    contextWindow: 1,
    calls: () => count,
    async *call() {
      const events = calls[Math.min(count, calls.length - 1)] ?? [];
      count += 1;
      yield* events;
    },
  };
}

function setup(model: Model, random = () => 1) {
  const clock = new FakeClock();
  const waits: RetryInfo[] = [];
  const wrapped = withRetry(model, { clock, random, onRetry: (info) => waits.push(info) });
  return { clock, waits, wrapped, signal: new AbortController().signal };
}

modelContract('retry', async () => ({
  model: withRetry(createDemoModel({ clock: systemClock }), { clock: systemClock, random: Math.random }),
  answered: modelRequest('hello'),
  slow: modelRequest('/demo stream'),
  [Symbol.asyncDispose]: async () => undefined,
}));

describe('withRetry', () => {
  test('F25 a failing server is asked four times with waits of 1, 2 and 4 s', async () => {
    const model = scripted([failed('server')]);
    const { clock, waits, wrapped, signal } = setup(model);
    const result = collect(wrapped.call(modelRequest('hi'), signal));
    await clock.advance(7_000);
    expect((await result).map((event) => event.type)).toEqual(['failed']);
    expect(model.calls()).toBe(4);
    expect(waits.map((info) => [info.attempt, info.waitMs])).toEqual([
      [1, 1_000],
      [2, 2_000],
      [3, 4_000],
    ]);
  });

  test('jitter takes at most half of a wait', async () => {
    const { clock, waits, wrapped, signal } = setup(scripted([failed('network')], [done('x')]), () => 0);
    const result = collect(wrapped.call(modelRequest('hi'), signal));
    await clock.advance(500);
    await result;
    expect(waits[0]?.waitMs).toBe(500);
  });

  test.each(['auth', 'payment', 'bad-request', 'context-length', 'timeout'] as const)(
    'F26 %s is not tried again',
    async (kind) => {
      const model = scripted([failed(kind)]);
      const { wrapped, signal } = setup(model);
      expect((await collect(wrapped.call(modelRequest('hi'), signal))).at(-1)).toMatchObject({ failure: { kind } });
      expect(model.calls()).toBe(1);
    },
  );

  test('text of a failed attempt is taken back with restart', async () => {
    const { clock, wrapped, signal } = setup(
      scripted([{ type: 'text', text: 'par' }, failed('malformed')], [{ type: 'text', text: 'whole' }, done('whole')]),
    );
    const result = collect(wrapped.call(modelRequest('hi'), signal));
    await clock.advance(1_000);
    const events = await result;
    expect(events.map((event) => event.type)).toEqual(['text', 'restart', 'text', 'done']);
    expect(streamedText(events)).toBe('whole');
  });

  test('M11 after text was shown there is one more try, held back until it is whole; text is taken back once, or left to the next model', async () => {
    const part = (text: string): ModelEvent[] => [{ type: 'text', text }, failed('malformed')];
    const broken = scripted(part('par'));
    const again = setup(broken);
    const result = collect(again.wrapped.call(modelRequest('hi'), again.signal));
    await again.clock.advance(60_000);
    expect((await result).map((event) => event.type)).toEqual(['text', 'failed']);
    expect(broken.calls()).toBe(2);
    const late = scripted([failed('server')], part('par'), [{ type: 'text', text: 'whole' }, done('whole')]);
    const { clock, wrapped, signal } = setup(late);
    const healed = collect(wrapped.call(modelRequest('hi'), signal));
    await clock.advance(60_000);
    expect((await healed).map((event) => event.type)).toEqual(['text', 'restart', 'text', 'done']);
    expect(late.calls()).toBe(3);
  });

  test('M11 what was withheld is not asked for again', async () => {
    const model = scripted([failed('content-filter')]);
    const { wrapped, signal } = setup(model);
    await collect(wrapped.call(modelRequest('hi'), signal));
    expect(model.calls()).toBe(1);
  });

  test('M9 an output limit that a refusal names is kept to at once, once, and by later calls from the start', async () => {
    const sent: (number | undefined)[] = [];
    const limited: Model = {
      id: 'p/m',
      contextWindow: 1,
      async *call({ maxOutputTokens }) {
        sent.push(maxOutputTokens);
        const failure = { ...createFailure('bad-request', { message: 'too many' }), maxOutputTokens: 16_384 };
        if (maxOutputTokens !== 16_384) yield { type: 'failed', failure };
        else yield done('x');
      },
    };
    const { wrapped, signal, clock } = setup(limited);
    const ask = async (maxOutputTokens?: number) =>
      (await collect(wrapped.call(modelRequest('hi', maxOutputTokens ? { maxOutputTokens } : {}), signal))).at(-1)?.type;
    expect([await ask(20_480), await ask(20_480), await ask()]).toEqual(['done', 'done', 'done']);
    expect(sent).toEqual([20_480, 16_384, 16_384, 16_384]);
    // A server may have lied.
    await clock.advance(3_600_000);
    await ask(20_480);
    expect(sent.slice(4)).toEqual([20_480, 16_384]);
  });

  test('M9 what an account can afford is tried once and not kept, and never over and over', async () => {
    const sent: (number | undefined)[] = [];
    const poor: Model = {
      id: 'p/m',
      contextWindow: 1,
      async *call({ maxOutputTokens = 32_000 }) {
        sent.push(maxOutputTokens);
        yield {
          type: 'failed',
          failure: { ...createFailure('payment', { message: 'no money' }), maxOutputTokens: maxOutputTokens - 1_000 },
        };
      },
    };
    const { wrapped, signal } = setup(poor);
    for (let i = 0; i < 2; i += 1) {
      expect((await collect(wrapped.call(modelRequest('hi', { maxOutputTokens: 9_000 }), signal))).at(-1)).toMatchObject({
        failure: { kind: 'payment' },
      });
    }
    expect(sent).toEqual([9_000, 8_000, 9_000, 8_000]);
  });

  test('no restart is sent when nothing had been streamed', async () => {
    const { clock, wrapped, signal } = setup(scripted([failed('server')], [done('x')]));
    const result = collect(wrapped.call(modelRequest('hi'), signal));
    await clock.advance(1_000);
    expect((await result).map((event) => event.type)).toEqual(['done']);
  });

  test('F24 the wait the provider asks for is obeyed to the millisecond, 30 s when it does not say', async () => {
    const model = scripted([failed('rate-limit', { retryAfterMs: 7_000 })], [failed('rate-limit')], [done('x')]);
    const { clock, waits, wrapped, signal } = setup(model, () => 0);
    const result = collect(wrapped.call(modelRequest('hi'), signal));
    await clock.advance(6_999);
    expect(model.calls()).toBe(1);
    await clock.advance(1);
    expect(model.calls()).toBe(2);
    await clock.advance(30_000);
    expect((await result).at(-1)?.type).toBe('done');
    expect(waits.map((info) => info.waitMs)).toEqual([7_000, 30_000]);
  });

  test('F24 a wait longer than a minute fails at once and says how long', async () => {
    const model = scripted([failed('rate-limit', { retryAfterMs: 61_000 })]);
    const { wrapped, signal } = setup(model);
    expect((await collect(wrapped.call(modelRequest('hi'), signal))).at(-1)).toMatchObject({ failure: { retryAfterMs: 61_000 } });
    expect(model.calls()).toBe(1);
  });

  test('F24 a Retry-After holds back the other calls of the same key, and a delay is reported', async () => {
    const model = scripted([failed('rate-limit', { retryAfterMs: 10_000 })], [done('x')]);
    const { clock, waits, wrapped, signal } = setup(model, () => 0);
    const first = collect(wrapped.call(modelRequest('one'), signal));
    await clock.advance(0);
    const second = collect(wrapped.call(modelRequest('two'), signal));
    await clock.advance(9_999);
    expect(model.calls()).toBe(1);
    await clock.advance(1);
    expect([(await first).at(-1)?.type, (await second).at(-1)?.type]).toEqual(['done', 'done']);
    expect(waits.map((info) => info.attempt)).toEqual([1, 0]);
    expect(waits[1]?.failure.kind).toBe('rate-limit');
  });

  test('F24 a wait of 10 s or more is an event before it begins, for a wait of its own and for that of another call', async () => {
    const limited = scripted([failed('rate-limit', { retryAfterMs: 40_000 })], [done('x')]);
    const { clock, wrapped, signal } = setup(limited, () => 0);
    const events: ModelEvent[][] = [[], []];
    const follow = async (index: number) => {
      for await (const event of wrapped.call(modelRequest('hi'), signal)) events[index]?.push(event);
    };
    const first = follow(0);
    await clock.advance(15_000);
    const second = follow(1);
    await clock.advance(0);
    const waiting = (waitMs: number) => ({ type: 'waiting', reason: 'rate-limit', waitMs });
    expect(events).toEqual([[waiting(40_000)], [waiting(25_000)]]);
    await clock.advance(25_000);
    await Promise.all([first, second]);
    expect(events.map((list) => list.map(({ type }) => type))).toEqual([
      ['waiting', 'done'],
      ['waiting', 'done'],
    ]);
  });

  test.each([9_999, 61_000])(
    'F24 a wait of %d ms, too short to tell or too long to take, is no such event',
    async (retryAfterMs) => {
      const { clock, wrapped, signal } = setup(scripted([failed('rate-limit', { retryAfterMs })], [done('x')]), () => 0);
      const result = collect(wrapped.call(modelRequest('hi'), signal));
      await clock.advance(retryAfterMs);
      expect((await result).map(({ type }) => type)).not.toContain('waiting');
    },
  );

  test('F24 models of one key share its Retry-After through one gate, models of other keys do not wait', async () => {
    const clock = new FakeClock();
    const gate = createRetryGate();
    const waits: RetryInfo[] = [];
    const wrap = (model: Model, shared: boolean) =>
      withRetry(model, { clock, random: () => 0, onRetry: (info) => waits.push(info), ...(shared ? { gate } : {}) });
    const signal = new AbortController().signal;
    const limited = scripted([failed('rate-limit', { retryAfterMs: 10_000 })], [done('x')]);
    const [sibling, stranger] = [scripted([done('y')]), scripted([done('z')])];
    const calls = [collect(wrap(limited, true).call(modelRequest('one'), signal))];
    await clock.advance(0);
    calls.push(collect(wrap(sibling, true).call(modelRequest('two'), signal)));
    await collect(wrap(stranger, false).call(modelRequest('three'), signal));
    await clock.advance(9_999);
    expect([limited.calls(), sibling.calls(), stranger.calls()]).toEqual([1, 0, 1]);
    await clock.advance(1);
    await Promise.all(calls);
    expect([limited.calls(), sibling.calls()]).toEqual([2, 1]);
  });

  test('F24 where another model stands by, a long wait is not taken: the call says how long, and no other is sent before', async () => {
    const model = scripted([failed('rate-limit')]);
    const clock = new FakeClock();
    const gate = createRetryGate();
    const wrapped = withRetry(model, { clock, random: () => 0, gate, maxWaitMs: 5_000 });
    const ask = () => collect(wrapped.call(modelRequest('hi'), new AbortController().signal));
    expect((await ask()).at(-1)).toMatchObject({ failure: { kind: 'rate-limit', retryAfterMs: 30_000 } });
    const told = scripted([failed('rate-limit', { retryAfterMs: 20_000 })]);
    await collect(
      withRetry(told, { clock, random: () => 0, gate, maxWaitMs: 5_000 }).call(modelRequest('hi'), new AbortController().signal),
    );
    expect((await ask()).at(-1)).toMatchObject({ failure: { kind: 'rate-limit', retryAfterMs: 20_000 } });
    expect(model.calls()).toBe(1);
  });

  test('what is known of the model stays known', () => {
    const facts = { maxOutputTokens: 1, vision: true, tools: true, price: null };
    const { wrapped } = setup({ ...scripted([done('x')]), facts });
    expect(wrapped.facts).toBe(facts);
  });

  test('an abort during a wait ends the call at once', async () => {
    const { clock, wrapped } = setup(scripted([failed('server')]));
    const stop = new AbortController();
    const result = collect(wrapped.call(modelRequest('hi'), stop.signal));
    await clock.advance(10);
    stop.abort();
    expect((await result).at(-1)).toMatchObject({ failure: { kind: 'aborted' } });
  });

  test('a model that breaks the port and ends without an outcome is a failure', async () => {
    const { clock, wrapped, signal } = setup(scripted([]));
    const result = collect(wrapped.call(modelRequest('hi'), signal));
    await clock.advance(10_000);
    expect((await result).at(-1)).toMatchObject({ failure: { kind: 'malformed' } });
  });
});
