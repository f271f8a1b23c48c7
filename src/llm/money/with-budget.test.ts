import { describe, expect, test } from 'vitest';
import type { UsageEntry } from '../../core/ledger.ts';
import type { Model, ModelEvent, ModelFailure, Price, Usage } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { cpuMs } from '../../testing/cpu-time.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { facts, inOrder, MemoryLedger, paidModel } from '../../testing/paid-model.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { priceOf } from '../catalog/price.ts';
import { collect, modelContract, modelRequest } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { failureText } from '../failure-text.ts';
import { withRetry } from '../retry.ts';
import { Budget, type BudgetLimits } from './budget.ts';
import { type BudgetedOptions, withBudget } from './with-budget.ts';

const signal = new AbortController().signal;
const NOON = Date.UTC(2026, 0, 1, 12);

async function setup(limits: BudgetLimits, options: Partial<BudgetedOptions> = {}) {
  const clock = new FakeClock(NOON);
  const ledger = new MemoryLedger();
  const budget = await Budget.open(ledger, limits, { clock, startOfDay: (at) => at - (at % 86_400_000) });
  const entries: UsageEntry[] = [];
  const onUnfinished = (entry: UsageEntry) => entries.push(entry);
  const wrap = (model: Model) => withBudget(model, budget, { clock, onUnfinished, ...options });
  return { clock, budget, wrap, entries, context: modelRequest('x').context };
}

function failureOf(events: readonly ModelEvent[]): ModelFailure {
  const last = events.at(-1);
  if (last?.type !== 'failed') throw new Error(`the call ended with ${last?.type}`);
  return last.failure;
}

for (const [name, limits] of [
  ['without limits', {}],
  ['within a limit', { dailyUsd: 100 }],
] as const) {
  modelContract(`budget ${name}`, async () => {
    const demo = { ...createDemoModel({ clock: systemClock }), demo: false, facts: facts() };
    const { wrap } = await setup(limits);
    return {
      model: wrap(demo),
      answered: modelRequest('hello'),
      slow: modelRequest('/demo stream'),
      [Symbol.asyncDispose]: async () => undefined,
    };
  });
}

describe('withBudget', () => {
  test('200 calls at once against 1.00 USD never pass it, and the money that was held for them comes back', async () => {
    const { clock, budget, wrap } = await setup({ dailyUsd: 1 });
    let real = 0;
    let worstMoment = 0;
    const script = async () => {
      // Up to 0.10 USD of output was held; 0.05 is what it came to.
      await clock.sleep(1_000);
      real += 0.05 + 25 / 100_000;
      worstMoment = Math.max(worstMoment, real);
      return { text: 'ok', usage: { tokensIn: 25, tokensOut: 500, tokensCached: 0 } };
    };
    const model = wrap(paidModel(script));
    const request = modelRequest('x', { maxOutputTokens: 1_000 });
    const calls: Promise<ModelEvent[]>[] = [];
    for (let i = 0; i < 200; i += 1) {
      calls.push(collect(model.call(request, signal)));
      if (i % 20 === 19) await clock.advance(1_000);
    }
    await clock.advance(1_000);
    const ends = (await Promise.all(calls)).map((events) => events.at(-1)?.type);
    expect(ends.filter((end) => end === 'failed').length).toBeGreaterThan(100);
    expect(real).toBeGreaterThan(0.85);
    expect(worstMoment).toBeLessThanOrEqual(1);
    const state = budget.tightest(request.context);
    expect(state?.spentUsd).toBeCloseTo(real, 6);
    expect(state?.reservedUsd).toBe(0);
  });

  test('a server that counts more than was estimated passes the limit by no more than what one call held', async () => {
    const { wrap, budget, context } = await setup({ dailyUsd: 1 });
    // Twice the worst case, every time.
    const model = wrap(paidModel(() => ({ text: 'x', usage: { tokensIn: 0, tokensOut: 2_000, tokensCached: 0 } })));
    for (let i = 0; i < 20; i += 1) await collect(model.call(modelRequest('x'), signal));
    expect(budget.tightest(context)?.spentUsd).toBeGreaterThanOrEqual(0.9);
    expect(budget.tightest(context)?.spentUsd).toBeLessThanOrEqual(1 + 0.101);
  });

  test('a call that does not fit is not sent; the operator gets figures, the person a plain sentence', async () => {
    const { wrap } = await setup({ dailyUsd: 0.05 });
    const inner = paidModel(['never']);
    const failure = failureOf(await collect(wrap(inner).call(modelRequest('my secret'), signal)));
    expect(inner.requests).toHaveLength(0);
    expect(failure).toMatchObject({ kind: 'budget', code: 'GH2112', retryable: false, retryAfterMs: 12 * 3_600_000 });
    expect(failure.message).toMatch(
      /^acme\/large was not called: a limit of 0\.0500 USD a day, 0\.00 USD spent, 0\.00 USD held .* may cost 0\.10 USD$/,
    );
    expect(failure.message).not.toContain('secret');
    expect(failureText(failure)).toBe(
      'The spending limit of this assistant is reached, so the AI model was not asked. Please ask again in 12 h. (GH2112)',
    );
  });

  test('an unknown price is not sent under a limit, is sent where that is allowed, and where there is no limit', async () => {
    for (const [limits, sent] of [
      [{ sessionUsd: 1 }, 0],
      [{ sessionUsd: 1, allowUnknownPrice: true }, 1],
      [{}, 1],
    ] as const) {
      const { wrap } = await setup(limits);
      const inner = paidModel(['hi'], { price: null });
      const events = await collect(wrap(inner).call(modelRequest('x'), signal));
      expect(inner.requests).toHaveLength(sent);
      if (sent === 0) {
        expect(failureOf(events)).toMatchObject({ kind: 'budget', code: 'GH2113', hint: expect.stringContaining('model_hints') });
        expect(failureText(failureOf(events))).toContain('price');
      } else expect(events.at(-1)).toMatchObject({ answer: { usage: { costUsd: null } } });
    }
  });

  test('the refusal of one slot leaves the next one to answer', async () => {
    const { wrap } = await setup({ dailyUsd: 0.05 });
    const dear = paidModel(['dear']);
    const cheap = paidModel(['cheap'], { price: { in: 0.1, out: 1 } });
    const events = await collect(inOrder(wrap(dear), wrap(cheap)).call(modelRequest('x'), signal));
    expect(events.at(-1)).toMatchObject({ type: 'done', answer: { text: 'cheap' } });
    expect(dear.requests).toHaveLength(0);
  });

  test.each([
    ['network', 0],
    ['auth', 0],
    ['bad-request', 0],
    ['rate-limit', 0],
    ['overloaded', 0],
    ['timeout', 0.04],
    ['malformed', 0.04],
    ['empty', 0.04],
    ['aborted', 0.04],
    ['content-filter', 0.04],
  ] as const)('a call that failed with %s before any text costs %s USD', async (kind, cost) => {
    const { wrap, budget, entries } = await setup({ dailyUsd: 1 });
    const request = modelRequest('x'.repeat(16_000));
    await collect(wrap(paidModel([{ fail: kind }])).call(request, signal));
    expect(budget.tightest(request.context)?.spentUsd).toBeCloseTo(cost, 3);
    expect(budget.tightest(request.context)?.reservedUsd).toBe(0);
    expect(entries).toHaveLength(cost === 0 ? 0 : 1);
  });

  test('a stream that broke off is billed for its input and what it wrote, and the ledger is told', async () => {
    const { wrap, budget, entries, context } = await setup({ dailyUsd: 1 });
    const text = 'word '.repeat(400);
    const cut: ModelEvent[] = [
      { type: 'text', text },
      { type: 'failed', failure: { kind: 'server', code: 'GH2103', message: '', hint: '', retryable: true } },
    ];
    await collect(wrap(paidModel([{ events: cut }])).call(modelRequest('x', { context: { ...context, job: 'j' } }), signal));
    expect(entries).toEqual([
      {
        id: expect.stringMatching(/^unfinished-/),
        at: NOON,
        provider: 'acme',
        model: 'large',
        tokensIn: expect.any(Number),
        tokensOut: 500,
        tokensCached: 0,
        costUsd: expect.closeTo(0.05, 2),
        session: context.session,
        channel: 'test',
        sender: 'test:1',
        purpose: 'turn:unfinished',
        job: 'j',
      },
    ]);
    expect(budget.tightest(context)?.spentUsd).toBeCloseTo(entries[0]?.costUsd ?? 0, 8);
  });

  test('every attempt of a retry around it that broke off is paid, with or without text, and one that no longer fits is not made', async () => {
    const { wrap, clock, budget, entries, context } = await setup({ dailyUsd: 0.21 });
    const failure: ModelFailure = { kind: 'malformed', code: 'GH2109', message: '', hint: '', retryable: true };
    const cut: ModelEvent = { type: 'failed', failure };
    // Each may cost 0.10 USD: the first was cut in the middle of a tool call, the second wrote a good part of
    // that.
    const inner = paidModel([
      { events: [cut] },
      { events: [{ type: 'text', text: 'word '.repeat(400) }, cut] },
      { text: 'never' },
    ]);
    const model = withRetry(wrap(inner), { clock, random: () => 1 });
    const request = modelRequest('x'.repeat(16_000), { maxOutputTokens: 600 });
    const ended = collect(model.call(request, signal));
    await clock.advance(10_000);
    const events = await ended;
    expect(events.map(({ type }) => type)).toEqual(['text', 'failed']);
    expect(failureOf(events).kind).toBe('budget');
    expect(inner.requests).toHaveLength(2);
    expect(entries.map(({ costUsd }) => costUsd)).toEqual([expect.closeTo(0.04, 3), expect.closeTo(0.09, 3)]);
    expect(budget.tightest(context)).toMatchObject({ reservedUsd: 0, spentUsd: expect.closeTo(0.13, 3) });
  });

  test('text that the model itself takes back is part of one call: it is billed by its answer and by nothing else', async () => {
    const { wrap, budget, entries, context } = await setup({ dailyUsd: 1 });
    const usage = { tokensIn: 100, tokensOut: 500, tokensCached: 0 };
    const answer = { text: 'Hello', toolCalls: [], stop: 'end', usage, provider: 'acme', model: 'large' } as const;
    const events: ModelEvent[] = [
      { type: 'text', text: 'word '.repeat(400) },
      { type: 'restart', reason: 'reasoning' },
      { type: 'text', text: 'Hello' },
      { type: 'done', answer },
    ];
    const seen = await collect(wrap(paidModel([{ events }])).call(modelRequest('x'), signal));
    expect(seen.map(({ type }) => type)).toEqual(['text', 'restart', 'text', 'done']);
    expect(entries).toEqual([]);
    expect(budget.tightest(context)?.spentUsd).toBeCloseTo(0.051, 6);
  });

  test('a consumer that leaves early pays for what it saw and holds nothing', async () => {
    const { wrap, budget, entries, context } = await setup({ dailyUsd: 1 });
    const model = wrap(paidModel([{ chunks: ['word '.repeat(400), 'more'] }]));
    for await (const event of model.call(modelRequest('x'), signal)) if (event.type === 'text') break;
    expect(budget.tightest(context)).toMatchObject({ reservedUsd: 0, spentUsd: expect.closeTo(0.05, 2) });
    expect(entries).toHaveLength(1);
  });

  test('a server that counts nothing is not free', async () => {
    const { wrap, budget, context } = await setup({ dailyUsd: 1 });
    const usage = { tokensIn: 0, tokensOut: 0, tokensCached: 0 };
    await collect(wrap(paidModel([{ text: 'word '.repeat(400), usage }])).call(modelRequest('x'), signal));
    expect(budget.tightest(context)?.spentUsd).toBeCloseTo(0.05, 2);
  });

  test('a model that its provider does not have costs nothing, also where no status says so', async () => {
    const { wrap, budget, entries, context } = await setup({ dailyUsd: 1 });
    await collect(wrap(paidModel([{ fail: 'model-gone' }])).call(modelRequest('x'), signal));
    expect(entries).toEqual([]);
    expect(budget.tightest(context)).toMatchObject({ spentUsd: 0, reservedUsd: 0 });
  });

  describe('a failure with the count of the provider', () => {
    const usage = { tokensIn: 200, tokensOut: 700, tokensCached: 100, tokensReasoning: 700 };
    const failure = (kind: ModelFailure['kind'], counted: Usage): ModelFailure => ({
      ...{ kind, code: 'GH2108', message: '', hint: '', retryable: true, usage: counted },
    });

    test.each(['empty', 'content-filter', 'malformed', 'timeout', 'aborted', 'server'] as const)(
      'costs what it counted, whatever its kind: %s',
      async (kind) => {
        const { wrap, budget, entries, context } = await setup({ dailyUsd: 1 });
        await collect(wrap(paidModel([{ fail: failure(kind, usage) }])).call(modelRequest('x'), signal));
        const costUsd = (200 * 10 + 700 * 100) / 1e6;
        expect(entries).toEqual([
          expect.objectContaining({ ...usage, costUsd: expect.closeTo(costUsd, 12), purpose: 'turn:unfinished' }),
        ]);
        expect(budget.tightest(context)).toMatchObject({ spentUsd: expect.closeTo(costUsd, 8), reservedUsd: 0 });
      },
    );

    test('that cannot be believed costs our estimate, and a refusal with a count of nothing costs nothing', async () => {
      const { wrap, budget, entries, context } = await setup({ dailyUsd: 1 });
      const model = wrap(
        paidModel([
          {
            events: [
              { type: 'text', text: 'word '.repeat(400) },
              { type: 'failed', failure: failure('server', { ...usage, tokensOut: -1 }) },
            ],
          },
          { fail: failure('overloaded', { tokensIn: 0, tokensOut: 0, tokensCached: 0 }) },
        ]),
      );
      await collect(model.call(modelRequest('x'), signal));
      await collect(model.call(modelRequest('x'), signal));
      expect(entries).toMatchObject([{ tokensOut: 500, costUsd: expect.closeTo(0.05, 2) }]);
      expect(budget.tightest(context)?.spentUsd).toBeCloseTo(0.05, 2);
    });
  });

  test('an absurd count is booked as the most the call can have, and reported', async () => {
    const odd: { model: string; detail: string }[] = [];
    const { wrap, budget, context } = await setup({ dailyUsd: 1 }, { onOddUsage: (seen) => odd.push(seen) });
    const absurd = { tokensIn: 9e15, tokensOut: 9e15, tokensCached: 0 };
    const events = await collect(wrap(paidModel([{ text: 'x', usage: absurd }])).call(modelRequest('x'), signal));
    expect(events.at(-1)).toMatchObject({ answer: { usage: { tokensOut: 1_000, costUsd: expect.closeTo(0.1, 2) } } });
    expect(budget.tightest(context)?.spentUsd).toBeCloseTo(0.1, 2);
    expect(odd).toEqual([
      { model: 'acme/large', detail: expect.stringMatching(/^reported .*9000000000000000.*, booked .*1000/) },
    ]);
  });

  test('another model that answers is charged at its own price', async () => {
    const asked: string[] = [];
    const priceOf = (provider: string, model: string) => {
      asked.push(`${provider}/${model}`);
      return { in: 0, out: 500 };
    };
    const { wrap, budget, context } = await setup({ dailyUsd: 1 }, { priceOf });
    const usage = { tokensIn: 10, tokensOut: 1_000, tokensCached: 0 };
    const model = wrap(
      paidModel([
        { text: 'x', usage, servedModel: 'huge' },
        { text: 'x', usage },
      ]),
    );
    await collect(model.call(modelRequest('x'), signal));
    expect(budget.tightest(context)?.spentUsd).toBeCloseTo(0.5, 8);
    await collect(model.call(modelRequest('x'), signal));
    expect(budget.tightest(context)?.spentUsd).toBeCloseTo(0.6, 3);
    expect(asked).toEqual(['acme/huge']);
  });

  test.each([
    ['a dearer model whose name begins with that of the one that was asked', 'gpt-5-pro', 0.12],
    ['a dated name of the one that was asked', 'gpt-5-2025-08-07', 0.01],
    ['a name that is no name', `a${'-a'.repeat(4_000)}`, 0.01],
  ])('who is said to have answered decides the price, and takes no time to look up: %s', async (_, servedModel, usd) => {
    const { wrap, budget, context } = await setup({ dailyUsd: 1 }, { priceOf: (_asked, model) => priceOf('openai', model) });
    const gpt5: Price = { in: 1.25, out: 10 };
    const usage = { tokensIn: 10, tokensOut: 1_000, tokensCached: 0 };
    const model = wrap(paidModel([{ text: 'x', usage, servedModel }], { price: gpt5 }, 'openai/gpt-5'));
    const from = cpuMs();
    await collect(model.call(modelRequest('x'), signal));
    expect(cpuMs() - from).toBeLessThan(1_000);
    expect(budget.tightest(context)?.spentUsd).toBeCloseTo(usd, 3);
  });

  test.each([
    ['global.anthropic.claude-opus-5-5', 'claude-opus-5-5'],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5-20250929'],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5'],
  ])(
    '%s, which answers as %s, has the price that was asked for, with its discount for what was cached',
    async (asked, served) => {
      const { wrap, budget, context } = await setup({ dailyUsd: 100 }, { priceOf: (_, model) => priceOf('bedrock', model) });
      const usage = { tokensIn: 100_000, tokensOut: 0, tokensCached: 100_000 };
      const price: Price = { in: 10, out: 100, cached: 1 };
      await collect(
        wrap(paidModel([{ text: 'x', usage, servedModel: served }], { price }, `bedrock/${asked}`)).call(
          modelRequest('x'),
          signal,
        ),
      );
      expect(budget.tightest(context)?.spentUsd).toBeCloseTo(0.1, 8);
    },
  );

  test('a price that begins while this runs is held and booked from its day on', async () => {
    const { clock, wrap, budget, context } = await setup({ dailyUsd: 1 });
    const held: (number | undefined)[] = [];
    const booked: (number | null | undefined)[] = [];
    const script = () => {
      held.push(budget.tightest(context)?.reservedUsd);
      return { text: 'x', usage: { tokensIn: 0, tokensOut: 1_000, tokensCached: 0 } };
    };
    const later = { from: '2026-01-02', price: { in: 20, out: 200 } };
    const model = wrap(paidModel(script, { price: { in: 10, out: 100, later } }));
    for (const _day of [1, 2]) {
      const last = (await collect(model.call(modelRequest('x'), signal))).at(-1);
      booked.push(last?.type === 'done' ? last.answer.usage.costUsd : undefined);
      await clock.advance(12 * 3_600_000);
    }
    expect(held).toEqual([expect.closeTo(0.1, 2), expect.closeTo(0.2, 2)]);
    expect(booked).toEqual([expect.closeTo(0.1, 8), expect.closeTo(0.2, 8)]);
  });

  describe('a call that is broken off while its model thinks in silence', () => {
    const SECONDS_100 = 100_000;
    const thinker = (clock: FakeClock, thinking: readonly string[]) => ({
      ...scriptedModel(() => ({ text: 'late', delayMs: 10 * SECONDS_100 }), { clock, id: 'acme/large' }),
      facts: facts({ thinking, maxOutputTokens: 8_000 }),
    });
    const breakOff = async (clock: FakeClock, model: Model, request = modelRequest('x')) => {
      const stop = new AbortController();
      const ended = collect(model.call(request, stop.signal));
      await clock.advance(SECONDS_100);
      stop.abort();
      await ended;
    };

    test('is charged for the time, so that stopping again and again passes no limit', async () => {
      const { clock, wrap, budget, entries, context } = await setup({ dailyUsd: 1 });
      await breakOff(clock, wrap(thinker(clock, ['low', 'high'])));
      expect(entries).toMatchObject([{ tokensOut: 5_000, costUsd: expect.closeTo(0.5, 2) }]);
      expect(budget.tightest(context)?.spentUsd).toBeCloseTo(0.5, 2);
    });

    test('is never charged more than was held, and nothing of the kind where the model does not think', async () => {
      const { clock, wrap, entries } = await setup({ dailyUsd: 10 });
      await breakOff(clock, wrap(thinker(clock, ['on'])), modelRequest('x', { maxOutputTokens: 1_000 }));
      await breakOff(clock, wrap(thinker(clock, ['off', 'on'])), modelRequest('x', { thinking: 'off' }));
      await breakOff(clock, wrap(thinker(clock, [])));
      expect(entries.map(({ tokensOut }) => tokensOut)).toEqual([1_000, 0, 0]);
    });

    test.each([[['low', 'high']], [['on']]])('is charged at level off too where the model cannot stop: %j', async (levels) => {
      const { clock, wrap, entries } = await setup({ dailyUsd: 10 });
      await breakOff(clock, wrap(thinker(clock, levels)), modelRequest('x', { thinking: 'off' }));
      expect(entries).toMatchObject([{ tokensOut: 5_000 }]);
    });
  });

  test('the demo costs nothing and is left as it is', async () => {
    const { wrap } = await setup({ dailyUsd: 0 });
    const demo = createDemoModel({ clock: systemClock });
    expect((await collect(wrap(demo).call(modelRequest('hi'), signal))).at(-1)?.type).toBe('done');
  });
});
