import { describe, expect, test } from 'vitest';
import type { Model, ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import type { SessionMessage } from '../../core/session.ts';
import { systemClock } from '../../lib/clock.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { facts, inOrder, MemoryLedger, paidModel } from '../../testing/paid-model.ts';
import { collect, modelContract, modelRequest, streamedText } from '../contract.ts';
import { createDemoModel } from '../demo.ts';
import { createChain } from '../routing/chain.ts';
import { Budget, type BudgetLimits } from './budget.ts';
import { estimateCall } from './cost.ts';
import { withBudget } from './with-budget.ts';
import { type SpendingStepsOptions, type SpendingStepTaken, withSpendingSteps } from './with-spending-steps.ts';

const signal = new AbortController().signal;
const DAY = 86_400_000;
const TOOL = { name: 'search', description: 'Searches.', parameters: { type: 'object' } };

async function setup(
  limits: BudgetLimits,
  slots: readonly Model[],
  options: Partial<SpendingStepsOptions> = {},
  over: (...slots: readonly Model[]) => Model = inOrder,
) {
  const clock = new FakeClock(Date.UTC(2026, 0, 1, 12));
  const budget = await Budget.open(new MemoryLedger(), limits, { clock, startOfDay: (at) => at - (at % DAY) });
  const steps: SpendingStepTaken[] = [];
  const inner = over(...slots.map((slot) => withBudget(slot, budget, { clock })));
  const model = withSpendingSteps(inner, budget, { clock, waitMs: 0, onStep: (taken) => steps.push(taken), ...options });
  const call = (request: ModelRequest, stop = signal) => collect(model.call(request, stop));
  const spend = (usd: number, context = modelRequest('x').context) => {
    const held = budget.reserve(context, 0);
    if (held.kind === 'reserved') held.settle(usd);
  };
  return { clock, budget, steps, call, spend, names: () => steps.map(({ step, first }) => (first ? step : `(${step})`)) };
}

function failureOf(events: readonly ModelEvent[]): ModelFailure {
  const last = events.at(-1);
  if (last?.type !== 'failed') throw new Error(`the call ended with ${last?.type}`);
  return last.failure;
}

modelContract('spending steps', async () => {
  const clock = new FakeClock();
  const budget = await Budget.open(new MemoryLedger(), { dailyUsd: 100 }, { clock });
  const demo = { ...createDemoModel({ clock: systemClock }), demo: false, facts: facts() };
  return {
    model: withSpendingSteps(withBudget(demo, budget, { clock }), budget, { clock }),
    answered: modelRequest('hello'),
    slow: modelRequest('/demo stream'),
    [Symbol.asyncDispose]: async () => undefined,
  };
});

describe('withSpendingSteps', () => {
  test('a call that fits goes through as it is, with the output limit that was reserved and nothing to report', async () => {
    const slot = paidModel(['fine']);
    const { call, names } = await setup({ dailyUsd: 10 }, [slot]);
    const request = modelRequest('x', { tools: [TOOL] });
    expect((await call(request)).at(-1)).toMatchObject({ answer: { text: 'fine' } });
    expect(slot.requests[0]).toEqual({ ...request, maxOutputTokens: 1_000 });
    expect(names()).toEqual([]);
  });

  test('a model swapped inside shows through, the demo included', async () => {
    const budget = await Budget.open(new MemoryLedger(), { dailyUsd: 0 }, { clock: systemClock });
    const swappable = { ...createDemoModel({ clock: systemClock }) };
    const model = withSpendingSteps(swappable, budget, { clock: systemClock });
    expect([model.id, model.demo]).toEqual(['demo', true]);
    expect((await collect(model.call(modelRequest('hi'), signal))).at(-1)?.type).toBe('done');
    Object.assign(swappable, withBudget(paidModel([]), budget, { clock: systemClock }), { demo: false });
    expect([model.id, model.demo]).toEqual(['acme/large', false]);
    expect(failureOf(await collect(model.call(modelRequest('hi'), signal))).kind).toBe('budget');
  });

  test('cheaper: the next slot answers when the first is too dear, and it is reported', async () => {
    const dear = paidModel([]);
    const cheap = paidModel(['cheap', 'cheap'], { price: { in: 0.1, out: 1 } }, 'acme/small');
    const { call, steps, names } = await setup({ dailyUsd: 0.05 }, [dear, cheap]);
    expect((await call(modelRequest('x'))).at(-1)).toMatchObject({ answer: { text: 'cheap' } });
    await call(modelRequest('y'));
    expect(names()).toEqual(['cheaper', '(cheaper)']);
    expect(steps[0]).toMatchObject({ limit: 'day', limitUsd: 0.05, spentUsd: 0 });
    expect(steps[0]?.context).toEqual(modelRequest('x').context);
  });

  describe('over models that stand by for each other', () => {
    const DEAR = 'acme/large';
    const CHEAP = 'acme/small';

    async function two(steps: SpendingStepsOptions['steps'], options: Partial<SpendingStepsOptions> = {}) {
      const dear = paidModel(() => 'dear', {}, DEAR);
      const cheap = paidModel(() => 'cheap', { price: { in: 0.1, out: 1 } }, CHEAP);
      const chained = (...slots: readonly Model[]) =>
        createChain(
          slots.map((model) => ({ model })),
          { clock: new FakeClock() },
        );
      const at = await setup({ dailyUsd: 0.05 }, [dear, cheap], { steps, ...options }, chained);
      return { ...at, dear, cheap };
    }

    test('without the step "cheaper" no other model is asked', async () => {
      const { call, cheap, dear, names } = await two(['stop']);
      expect(failureOf(await call(modelRequest('x')))).toMatchObject({ kind: 'budget', message: expect.stringContaining(DEAR) });
      expect([dear.requests, cheap.requests]).toEqual([[], []]);
      expect(names()).toEqual(['stopped']);
    });

    test('without the step "cheaper" another model still answers where the first one fails', async () => {
      const clock = new FakeClock();
      const budget = await Budget.open(new MemoryLedger(), { dailyUsd: 10 }, { clock });
      const down = paidModel(() => ({ fail: 'server' }), {}, DEAR);
      const slots = [down, paidModel(() => 'cheap', {}, CHEAP)].map((slot) => ({ model: withBudget(slot, budget, { clock }) }));
      const outer = withSpendingSteps(createChain(slots, { clock }), budget, { clock, steps: ['stop'] });
      expect((await collect(outer.call(modelRequest('x'), signal))).at(-1)).toMatchObject({ answer: { text: 'cheap' } });
    });

    test('"cheaper" has its place in the order: after the question that was answered with no', async () => {
      const asked: string[] = [];
      const askOwner = async ({ text }: { text: string }) => {
        asked.push(text);
        return undefined;
      };
      const { call, cheap, names } = await two(['ask', 'cheaper'], { askOwner });
      expect((await call(modelRequest('x', { mayWait: {} }))).at(-1)).toMatchObject({ answer: { text: 'cheap' } });
      expect([asked.length, cheap.requests.length]).toEqual([1, 1]);
      expect(names()).toEqual(['cheaper']);
    });
  });

  test('no-tools: a call that does not fit is made without tools and with as much output as fits', async () => {
    const slot = paidModel(['short']);
    const { call, names } = await setup({ dailyUsd: 0.05 }, [slot]);
    expect((await call(modelRequest('x', { tools: [TOOL] }))).at(-1)).toMatchObject({ answer: { text: 'short' } });
    expect(slot.requests).toHaveLength(1);
    expect(slot.requests[0]?.tools).toEqual([]);
    expect(slot.requests[0]?.maxOutputTokens).toBeGreaterThan(450);
    expect(slot.requests[0]?.maxOutputTokens).toBeLessThan(500);
    expect(names()).toEqual(['no-tools']);
  });

  test('a free model that is asked first keeps its tools, however little is left', async () => {
    const free = paidModel(['fine'], { price: { in: 0, out: 0 } });
    const { call, names } = await setup({ dailyUsd: 0 }, [free], { freeFirst: () => true });
    expect((await call(modelRequest('x', { tools: [TOOL] }))).at(-1)).toMatchObject({ answer: { text: 'fine' } });
    expect(free.requests[0]?.tools).toEqual([TOOL]);
    expect(names()).toEqual([]);
  });

  test('no-tools: below a tenth of a limit tools are left out from the start', async () => {
    const slot = paidModel(['a', 'b', 'c']);
    const { call, spend, names } = await setup({ dailyUsd: 10 }, [slot]);
    spend(8.9);
    await call(modelRequest('x', { tools: [TOOL] }));
    spend(0.15);
    await call(modelRequest('x', { tools: [TOOL] }));
    await call(modelRequest('x'));
    expect(slot.requests.map(({ tools, maxOutputTokens }) => [tools.length, maxOutputTokens])).toEqual([
      [1, 1_000],
      [0, 1_000],
      [0, 1_000],
    ]);
    expect(names()).toEqual(['no-tools']);
  });

  test('no-tools: calls and results of the history become text, which every provider takes without tools', async () => {
    const slot = paidModel(['short']);
    const { call } = await setup({ dailyUsd: 0.05 }, [slot]);
    const base = { timestamp: '2026-01-01T00:00:00Z' };
    const calls = ['1', '2'].map((id) => ({ id, name: 'search', arguments: `{"q":${id}}` }));
    const messages: SessionMessage[] = [
      { ...base, id: 's', role: 'system', content: 'Be terse.' },
      { ...base, id: 'u', role: 'user', content: 'find it' },
      { ...base, id: 'a', role: 'assistant', content: '', tool_calls: calls },
      { ...base, id: 't1', role: 'tool', content: 'one', tool_call_id: '1' },
      { ...base, id: 't2', role: 'tool', content: 'y'.repeat(5_000), tool_call_id: '2' },
      { ...base, id: 'u2', role: 'user', content: 'and?' },
    ];
    await call(modelRequest('x', { messages, tools: [TOOL] }));
    const sent = slot.requests[0]?.messages ?? [];
    expect(sent.map(({ role, content }) => [role, content.length > 300 ? content.length : content])).toEqual([
      ['system', expect.stringMatching(/^Be terse\.\n\nThe spending limit .* no tools/)],
      ['user', 'find it'],
      ['assistant', '[called search {"q":1}]\n[called search {"q":2}]'],
      ['user', '[result of search: one]\n'.length + '[result of search: ]'.length + 2_001],
      ['user', 'and?'],
    ]);
    expect(sent.some((message) => 'tool_calls' in message || 'tool_call_id' in message)).toBe(false);
  });

  test('ask: the owner may let one call pass the limit, and the next one asks again', async () => {
    const slot = paidModel(['paid', 'paid']);
    const asked: string[] = [];
    const askOwner: SpendingStepsOptions['askOwner'] = async ({ text, worstUsd, limit }) => {
      asked.push(text);
      expect([limit, worstUsd]).toEqual(['day', expect.closeTo(0.1, 2)]);
      return `question ${asked.length}`;
    };
    const { call, budget, spend, names } = await setup({ dailyUsd: 1 }, [slot], { askOwner });
    spend(0.999);
    const request = modelRequest('x', { tools: [TOOL], mayWait: {} });
    expect(await call(request)).toEqual([{ type: 'wait', wait: { kind: 'signal', about: 'question 1' } }]);
    const allowed = { ...request, mayWait: { verdict: 'allow' } };
    expect((await call(allowed)).at(-1)).toMatchObject({ answer: { text: 'paid' } });
    expect(await call(request)).toEqual([{ type: 'wait', wait: { kind: 'signal', about: 'question 2' } }]);
    await call(allowed);
    expect(slot.requests.map(({ tools }) => tools.length)).toEqual([1, 1]);
    expect(asked[0]).toMatch(
      /^There is a limit of 1\.00 USD a day; 1\.00 USD are spent\. Allow one more call of at most 0\.\d+ USD\?$/,
    );
    expect(asked).toHaveLength(2);
    expect(budget.tightest(request.context)?.reservedUsd).toBe(0);
    expect(names()).toContain('asked');
  });

  test('ask: what the owner allowed is no step to a cheaper model', async () => {
    const askOwner = async () => 'question';
    const { call, spend, names } = await setup({ dailyUsd: 1 }, [paidModel(['paid'])], { askOwner });
    spend(0.999);
    await call(modelRequest('x', { mayWait: { verdict: 'allow' } }));
    expect(names()).toEqual(['allowed']);
  });

  test.for([
    ['with tools', [{ ...TOOL, description: 'Searches far and wide. '.repeat(500) }]],
    ['without', []],
  ] as const)(
    'ask: the figure is the most that what it lets through may cost, whichever model that is: %s',
    async ([, tools]) => {
      const dear = paidModel(['dear'], {}, 'acme/large');
      const cheap = paidModel([], { price: { in: 0.1, out: 1 } }, 'acme/small');
      let text = '';
      const askOwner: SpendingStepsOptions['askOwner'] = async (question) => {
        text = question.text;
        return 'question';
      };
      const { call, spend } = await setup({ dailyUsd: 1 }, [dear, cheap], { askOwner });
      spend(0.9999);
      expect((await call(modelRequest('x', { tools, mayWait: {} }))).at(-1)?.type).toBe('wait');
      await call(modelRequest('x', { tools, mayWait: { verdict: 'allow' } }));
      const [sent = expect.fail('the dear one was not called')] = dear.requests;
      expect(sent.tools).toEqual(tools);
      expect(Number(/at most (\S+) USD/.exec(text)?.[1])).toBeCloseTo(estimateCall(sent, facts()).worstUsd ?? 0, 2);
    },
  );

  test('ask: a no, nobody to ask and a request that cannot wait all stop the call', async () => {
    let asked = 0;
    const port = (answer: () => Promise<string | undefined>): SpendingStepsOptions['askOwner'] => {
      return async () => {
        asked += 1;
        return await answer();
      };
    };
    const cases = [
      [async () => undefined, {}, 1],
      [async () => Promise.reject(new Error('offline')), {}, 1],
      [async () => 'question', { verdict: 'deny' }, 0],
      [async () => 'question', undefined, 0],
    ] as const;
    for (const [answer, mayWait, times] of cases) {
      asked = 0;
      const askOwner = port(answer);
      const { call, spend, names } = await setup({ dailyUsd: 1 }, [paidModel([])], askOwner ? { askOwner } : {});
      spend(1);
      const events = await call(modelRequest('x', mayWait ? { mayWait } : {}));
      expect([failureOf(events).kind, asked, names()]).toEqual(['budget', times, ['stopped']]);
    }
  });

  test('stop: figures for the operator, how long to wait, and one notice a day for each limit', async () => {
    const { call, spend, steps, clock } = await setup({ dailyUsd: 1 }, [paidModel([])]);
    spend(1);
    const failure = failureOf(await call(modelRequest('x')));
    expect(failure).toMatchObject({ kind: 'budget', code: 'GH2112', retryAfterMs: DAY / 2 });
    expect(failure.message).toContain('1.00 USD spent');
    await call(modelRequest('x'));
    expect(steps.map(({ step, first, spentUsd }) => [step, first, spentUsd])).toEqual([
      ['stopped', true, 1],
      ['stopped', false, 1],
    ]);
    await clock.advance(DAY / 2);
    spend(1);
    await call(modelRequest('x'));
    expect(steps.at(-1)).toMatchObject({ step: 'stopped', first: true });
  });

  test('steps are taken in the order of the config, and none after stop', async () => {
    const slot = paidModel(['short']);
    const askOwner = async () => 'question';
    const stopped = await setup({ dailyUsd: 0.05 }, [slot], { steps: ['stop', 'no-tools', 'ask'], askOwner });
    expect(failureOf(await stopped.call(modelRequest('x'))).kind).toBe('budget');
    expect(stopped.names()).toEqual(['stopped']);
    const asking = await setup({ dailyUsd: 0.05 }, [slot], { steps: ['ask', 'no-tools'], askOwner });
    await asking.call(modelRequest('x', { mayWait: {} }));
    expect(asking.names()).toEqual(['asked']);
  });

  test('an unknown price is not helped by fewer tools; the owner may allow it', async () => {
    const slot = paidModel(['ok'], { price: null });
    const no = await setup({ dailyUsd: 1 }, [slot]);
    expect(failureOf(await no.call(modelRequest('x')))).toMatchObject({ code: 'GH2113' });
    expect(no.steps).toMatchObject([{ step: 'stopped', unpriced: 'acme/large', first: true }]);
    let text = '';
    const askOwner: SpendingStepsOptions['askOwner'] = async (question) => {
      text = question.text;
      return 'question';
    };
    const yes = await setup({ dailyUsd: 1 }, [slot], { askOwner });
    expect((await yes.call(modelRequest('x', { mayWait: {} }))).at(-1)?.type).toBe('wait');
    expect((await yes.call(modelRequest('x', { mayWait: { verdict: 'allow' } }))).at(-1)?.type).toBe('done');
    expect(text).toContain('of unknown price');
    expect(yes.names().at(-1)).toBe('allowed');
  });

  test('while only running calls are in the way a call waits for them, and gives up after its time', async () => {
    const slot = paidModel(['waited', 'late']);
    const { call, budget, clock, names } = await setup({ dailyUsd: 0.15 }, [slot], { waitMs: 30_000, steps: ['stop'] });
    const running = budget.reserve(modelRequest('x').context, 0.12);
    const waiting = call(modelRequest('x'));
    await clock.advance(1_000);
    if (running.kind === 'reserved') running.settle(0.01);
    expect((await waiting).at(-1)).toMatchObject({ type: 'done', answer: { text: 'waited' } });
    expect(names()).toEqual([]);
    budget.reserve(modelRequest('x').context, 0.1);
    const vain = call(modelRequest('x'));
    await clock.advance(29_999);
    expect(names()).toEqual([]);
    await clock.advance(1);
    expect(failureOf(await vain).kind).toBe('budget');
  });

  test('an abort while waiting, and while the owner is asked, ends the call with failed(aborted)', async () => {
    const held = Promise.withResolvers<string>();
    const { call, budget, spend } = await setup({ dailyUsd: 0.1 }, [paidModel([])], {
      waitMs: 30_000,
      askOwner: () => held.promise,
    });
    const running = budget.reserve(modelRequest('x').context, 0.1);
    const stop = new AbortController();
    const waiting = call(modelRequest('x', { maxOutputTokens: 500 }), stop.signal);
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('stop'));
    expect(failureOf(await waiting).kind).toBe('aborted');
    if (running.kind === 'reserved') running.release();
    spend(0.1);
    const asking = new AbortController();
    const asked = call(modelRequest('x', { mayWait: {} }), asking.signal);
    await new Promise((resolve) => setImmediate(resolve));
    asking.abort(new Error('stop'));
    held.resolve('question');
    expect(failureOf(await asked).kind).toBe('aborted');
  });

  test('text of a slot that broke off is taken back before the next attempt', async () => {
    const broken: ModelEvent[] = [
      { type: 'text', text: 'half' },
      { type: 'failed', failure: { kind: 'server', code: 'GH2103', message: '', hint: '', retryable: true } },
    ];
    const cheap = { in: 0.01, out: 0.01 };
    const slots = [paidModel([{ events: broken }, 'whole'], { price: cheap }), paidModel([])];
    const { call } = await setup({ dailyUsd: 0.05 }, slots);
    const events = await call(modelRequest('x'));
    expect(streamedText(events)).toBe('whole');
    expect(events.at(-1)?.type).toBe('done');
  });

  test('200 turns at once against 1.00 USD: all that fits is answered, the rest is told, and the limit holds', async () => {
    let real = 0;
    const slot = paidModel(() => {
      real += 0.02;
      return { text: 'ok', usage: { tokensIn: 0, tokensOut: 200, tokensCached: 0 } };
    });
    const { call, budget } = await setup({ dailyUsd: 1 }, [slot], { waitMs: 30_000, steps: ['cheaper', 'stop'] });
    const ends = await Promise.all(Array.from({ length: 200 }, async () => (await call(modelRequest('x'))).at(-1)));
    const answered = ends.filter((end) => end?.type === 'done').length;
    expect(real).toBeLessThanOrEqual(1);
    // The last tenth of a dollar is less than the worst case of one more call.
    expect(answered).toBeGreaterThanOrEqual(45);
    expect(ends.filter((end) => end?.type === 'failed' && end.failure.kind === 'budget')).toHaveLength(200 - answered);
    expect(budget.tightest(modelRequest('x').context)).toMatchObject({ reservedUsd: 0, spentUsd: expect.closeTo(real, 9) });
  });
});
