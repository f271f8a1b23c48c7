/**
 * What a failing main model costs the people who wait, through retry and chain as the daemon stacks them
 * (M11).
 */
import { describe, expect, test } from 'vitest';
import type { Model, ModelEvent } from '../../core/model.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { MemoryLedger, paidModel } from '../../testing/paid-model.ts';
import { type Script, type ScriptStep, scriptedModel } from '../../testing/scripted-model.ts';
import { collect, modelRequest, streamedText } from '../contract.ts';
import { createFailure } from '../failure.ts';
import { Budget } from '../money/budget.ts';
import { withBudget } from '../money/with-budget.ts';
import { withRetry } from '../retry.ts';
import { createAdaptiveRouter } from './adaptive-router.ts';
import { createChain } from './chain.ts';

const live = new AbortController().signal;
const HEALTHY_MS = 800;
const CUT: ScriptStep = {
  events: [
    { type: 'text', text: 'par' },
    { type: 'failed', failure: createFailure('malformed', { message: 'cut' }) },
  ],
};
const TIMEOUT = createFailure('timeout', { message: 'no first token' });
const DEAD = {
  'refuses connections': () => ({ fail: 'network' as const, delayMs: 2 }),
  'answers 500': () => ({ fail: 'server' as const, delayMs: 200 }),
  'hangs until its limit': () => ({ fail: TIMEOUT, delayMs: 30_000 }),
  'never ends': () => ({ hang: 'deaf' as const }),
} satisfies Record<string, Script>;
const ROUTES = {
  chain: createChain,
  off: (slots, options) => createAdaptiveRouter(slots, { ...options, random: () => 0.5, mode: 'off' }),
  lane: (slots, options) => createAdaptiveRouter(slots, { ...options, random: () => 0.5, mode: 'lane' }),
} satisfies Record<string, (slots: readonly { model: Model }[], options: { clock: FakeClock }) => Model>;

function retried(script: Script, id: string, clock: FakeClock): Model {
  return withRetry(scriptedModel(script, { id, clock }), { clock, random: () => 1, maxWaitMs: 2_000 });
}

/** Ms to the first text that people see. */
async function firstText(model: Model, clock: FakeClock): Promise<number> {
  const from = clock.monotonic();
  let ms = Number.POSITIVE_INFINITY;
  const reading = (async () => {
    for await (const event of model.call(modelRequest('hi'), live)) {
      if (event.type === 'text') ms = Math.min(ms, clock.monotonic() - from);
    }
  })();
  let done = false;
  void reading.then(() => {
    done = true;
  });
  for (let waited = 0; !done && waited < 100_000; waited += 50) await clock.advance(50);
  await reading;
  return ms;
}

describe('a main model that is dead', () => {
  for (const [route, create] of Object.entries(ROUTES)) {
    test.each(Object.entries(DEAD))(
      `${route}: %s: from the third message on at most 150 ms over the healthy path`,
      async (name, script) => {
        // Without a limit of its own only the trials of it can be seen here.
        const first = name === 'never ends' ? [{ fail: TIMEOUT }, { fail: TIMEOUT }] : [];
        const main: Script = () => first.shift() ?? script();
        const clock = new FakeClock();
        const slots = [
          { model: retried(main, 'a/dead', clock) },
          { model: retried(() => ({ text: 'hello', delayMs: HEALTHY_MS }), 'b/spare', clock) },
        ];
        const model = create(slots, { clock });
        const ms: number[] = [];
        // Over five minutes, so that several trials of the dead one fall among them.
        for (let message = 0; message < 14; message += 1) {
          ms.push(await firstText(model, clock));
          await clock.advance(20_000);
        }
        expect(Math.max(...ms.slice(2))).toBeLessThanOrEqual(HEALTHY_MS + 150);
      },
    );
  }

  test('text that was shown is taken back at most once for each model, and each is asked twice', async () => {
    const clock = new FakeClock();
    const asked = { a: 0, b: 0, c: 0 };
    const cutting = (id: keyof typeof asked) =>
      retried(
        () => {
          asked[id] += 1;
          return CUT;
        },
        `${id}/1`,
        clock,
      );
    const chain = createChain(
      [cutting('a'), cutting('b'), cutting('c')].map((model) => ({ model })),
      { clock },
    );
    const result = collect(chain.call(modelRequest('hi'), live));
    await clock.advance(60_000);
    const types = (await result).map((event: ModelEvent) => event.type);
    const each = ['text', 'switched', 'restart'];
    expect(types).toEqual([...each, ...each, 'text', 'failed']);
    expect(asked).toEqual({ a: 2, b: 2, c: 2 });
  });

  test('an answer that was cut is taken back once and then shown whole', async () => {
    const clock = new FakeClock();
    const chain = createChain([{ model: retried([CUT, 'whole'], 'a/1', clock) }, { model: retried(['spare'], 'b/2', clock) }], {
      clock,
    });
    const result = collect(chain.call(modelRequest('hi'), live));
    await clock.advance(10_000);
    expect((await result).map(({ type }) => type)).toEqual(['text', 'restart', 'text', 'done']);
    expect(streamedText(await result)).toBe('whole');
  });
});

describe('a trial and money', () => {
  /** Each call may cost 0.10 USD. */
  async function paid(dailyUsd: number) {
    const clock = new FakeClock(Date.UTC(2026, 0, 1, 12));
    const budget = await Budget.open(new MemoryLedger(), { dailyUsd }, { clock, startOfDay: (at) => at - (at % 86_400_000) });
    const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
    const main = paidModel(
      [{ fail: 'server' }, { fail: 'server' }, { text: 'back', usage }, { text: 'back', usage }],
      {},
      'a/main',
    );
    const spare = paidModel(
      Array.from({ length: 5 }, () => ({ text: 'spare', usage })),
      {},
      'b/spare',
    );
    const chain = createChain(
      [main, spare].map((model) => ({ model: withBudget(model, budget, { clock }) })),
      { clock },
    );
    const ask = async () => streamedText(await collect(chain.call(modelRequest('hi'), live)));
    return { clock, ask, main, spare, budget };
  }

  test('both calls of a race are held from the same limit', async () => {
    const { clock, ask, main } = await paid(0.21);
    for (let i = 0; i < 2; i += 1) expect(await ask()).toBe('spare');
    await clock.advance(60_000);
    expect(await ask()).toBe('spare');
    expect(main.requests).toHaveLength(3);
    await clock.advance(0);
    expect(await ask()).toBe('back');
  });

  test('where the limit has room for one call there is no race: the healthy model answers alone', async () => {
    const { clock, ask, main, spare, budget } = await paid(0.15);
    for (let i = 0; i < 2; i += 1) await ask();
    for (let i = 0; i < 3; i += 1) {
      await clock.advance(60_000);
      expect(await ask()).toBe('spare');
    }
    expect([main.requests.length, spare.requests.length]).toEqual([2, 5]);
    expect(budget.tightest(modelRequest('hi').context)).toMatchObject({ reservedUsd: 0 });
  });
});
