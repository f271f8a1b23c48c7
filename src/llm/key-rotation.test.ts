import { describe, expect, test } from 'vitest';
import type { FailureKind, ModelEvent } from '../core/model.ts';
import { FakeClock } from '../testing/fakes.ts';
import { type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { collect, modelRequest } from './contract.ts';
import { createFailure } from './failure.ts';
import { withKeyRotation } from './key-rotation.ts';
import { withRetry } from './retry.ts';

const live = new AbortController().signal;

/** Keys `a`, `b`, `c`, whose servers do what `behave` says of them at that moment. */
function rotation(behave: Record<string, ScriptStep>) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const resting: string[] = [];
  const keys = Object.keys(behave).map((from) => ({ from, value: () => from }));
  const create = (key: string) => ({
    ...scriptedModel(
      () => {
        asked.push(key);
        return behave[key] ?? 'gone';
      },
      { clock },
    ),
    warm: async () => undefined,
  });
  const onResting = (key: { from: string }, { kind }: { kind: string }, next: { from: string }) =>
    resting.push(`${key.from} ${kind} -> ${next.from}`);
  const model = withKeyRotation(keys, create, { clock, onResting });
  return {
    ...{ clock, behave, resting, model },
    /** Which keys one call asked, and what came of it. */
    async call() {
      asked.length = 0;
      const events = await collect(model.call(modelRequest('hi'), live));
      return `${asked.join()}: ${end(events)}`;
    },
  };
}

function end(events: readonly ModelEvent[]): string {
  const last = events.at(-1);
  if (last?.type === 'done') return last.answer.text;
  return last?.type === 'failed' ? `${last.failure.kind} ${last.failure.retryAfterMs ?? ''}`.trim() : 'nothing';
}

const limited = (retryAfterMs?: number): ScriptStep => ({
  fail: createFailure('rate-limit', { message: 'too many', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }),
});
const refused: ScriptStep = { fail: 'auth' };

test('a key at its limit rests as long as its provider says, and is then the first again', async () => {
  const at = rotation({ a: limited(5_000), b: 'from b' });
  expect(await at.call()).toBe('a,b: from b');
  at.behave['a'] = 'from a';
  expect(await at.call()).toBe('b: from b');
  await at.clock.advance(5_000);
  expect(await at.call()).toBe('a: from a');
  expect(at.resting).toEqual(['a rate-limit -> b']);
});

test.each([30 * 365 * 24 * 3_600_000, Number.POSITIVE_INFINITY])(
  'a key rests a day at most, whatever its server says: %d',
  async (ms) => {
    const at = rotation({ a: limited(ms), b: 'from b' });
    expect(await at.call()).toBe('a,b: from b');
    at.behave['a'] = 'from a';
    expect(await at.call()).toBe('b: from b');
    await at.clock.advance(24 * 3_600_000);
    expect(await at.call()).toBe('a: from a');
  },
);

test('a refused key is passed over, told of once, and tried again after a quarter of an hour', async () => {
  const at = rotation({ a: refused, b: 'from b' });
  for (let n = 0; n < 3; n += 1) await at.call();
  expect(at.resting).toEqual(['a auth -> b']);
  at.behave['a'] = 'from a';
  await at.clock.advance(15 * 60_000);
  expect(await at.call()).toBe('a: from a');
});

test('each key is asked at most once a call, and the failure says when the first of them is ready', async () => {
  const at = rotation({ a: limited(60_000), b: refused, c: limited(8_000) });
  expect(await at.call()).toBe('a,b,c: rate-limit 8000');
  await at.clock.advance(3_000);
  // All of them rest: the one that is ready first is asked, and no other.
  expect(await at.call()).toBe('c: rate-limit 8000');
  expect(await rotation({ a: refused, b: { fail: 'payment' } }).call()).toBe('a,b: payment');
  expect(await rotation({ a: limited(), b: limited() }).call()).toBe('a,b: rate-limit 30000');
});

test.each(['server', 'bad-request', 'context-length', 'timeout', 'empty'] satisfies FailureKind[])(
  'a failure of kind %s is not the fault of the key: no other is asked',
  async (kind) => {
    const at = rotation({ a: { fail: kind }, b: 'from b' });
    expect(await at.call()).toBe(`a: ${kind}`);
    expect(at.resting).toEqual([]);
  },
);

test('a key that lacks a permission rests, and one of another project is asked', async () => {
  const at = rotation({ a: { fail: 'forbidden' }, b: 'from b' });
  expect(await at.call()).toBe('a,b: from b');
  expect(await at.call()).toBe('b: from b');
});

test('a key that began to rest in another call is passed over, and the one that is told of is asked', async () => {
  const at = rotation({ a: { ...refused, delayMs: 100 }, b: refused, c: 'from c' });
  const first = collect(at.model.call(modelRequest('hi'), live));
  await at.clock.advance(50);
  const second = at.call();
  await at.clock.advance(100);
  expect(end(await first)).toBe('from c');
  expect(await second).toBe('a,b,c,c: from c');
  expect(at.resting).toEqual(['a auth -> b', 'b auth -> c', 'a auth -> c']);
});

describe('what a key was billed before it was turned down', () => {
  const used = (tokensIn: number, costUsd?: number) => ({
    ...{ tokensIn, tokensOut: 10, tokensCached: 5, tokensReasoning: 4 },
    ...(costUsd === undefined ? {} : { costUsd }),
  });
  const billed = (costUsd?: number): ScriptStep => {
    const failure = createFailure('rate-limit', { message: 'too many', retryAfterMs: 50_000 });
    return { fail: { ...failure, usage: used(100, costUsd) } };
  };
  const usageOf = (events: readonly ModelEvent[]) => {
    const last = events.at(-1);
    return last?.type === 'done' ? last.answer.usage : last?.type === 'failed' ? last.failure.usage : undefined;
  };
  const ask = async ({ model }: ReturnType<typeof rotation>) => usageOf(await collect(model.call(modelRequest('hi'), live)));
  const both = { tokensIn: 120, tokensOut: 20, tokensCached: 10, tokensReasoning: 8 };

  test('is in the usage of the answer that another key gave', async () => {
    const given = await ask(rotation({ a: billed(0.25), b: { text: 'from b', usage: used(20, 0.5) } }));
    expect(given).toMatchObject({ ...both, costUsd: 0.75 });
    // The cost of one of them is not the cost of both.
    const halfTold = await ask(rotation({ a: billed(), b: { text: 'from b', usage: used(20, 0.5) } }));
    expect(halfTold).toMatchObject(both);
    expect(halfTold?.costUsd ?? null).toBeNull();
  });

  test('is in the failure that ends the call, whatever it is, and in no later one', async () => {
    const failed = createFailure('server', { message: 'broken' });
    const at = rotation({ a: billed(), b: { fail: { ...failed, usage: used(20) } } });
    expect(await ask(at)).toMatchObject(both);
    expect(await ask(rotation({ a: billed(), b: { fail: failed } }))).toMatchObject(used(100));
    at.behave['b'] = limited(60_000);
    // The failure of the key that is ready first is told again; what it cost was told with its own call.
    expect(await ask(at)).toBeUndefined();
  });
});

test('what was shown is not told a second time by another key, which the next try need not wait for', async () => {
  const failure = createFailure('rate-limit', { message: 'too many', retryAfterMs: 50_000 });
  const half: ScriptStep = {
    events: [
      { type: 'text', text: 'half' },
      { type: 'failed', failure },
    ],
  };
  expect(await rotation({ a: half }).call()).toBe('a: rate-limit 50000');
  const at = rotation({ a: half, b: 'from b' });
  const model = withRetry(at.model, { clock: at.clock, random: () => 0.5 });
  const events: ModelEvent[] = [];
  const read = async () => {
    for await (const event of model.call(modelRequest('hi'), live)) events.push(event);
  };
  const reading = read();
  await at.clock.advance(0);
  await at.clock.advance(0);
  await reading;
  expect(end(events)).toBe('from b');
});
