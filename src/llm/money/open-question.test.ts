// A question to the owner that is no longer needed: whoever waits for its answer must not wait any longer.
import { expect, test } from 'vitest';
import { FakeClock } from '../../testing/fakes.ts';
import { inOrder, MemoryLedger, paidModel } from '../../testing/paid-model.ts';
import { collect, modelRequest } from '../contract.ts';
import { Budget, type BudgetLimits } from './budget.ts';
import { withBudget } from './with-budget.ts';
import { type SpendingStepsOptions, withSpendingSteps } from './with-spending-steps.ts';

const signal = new AbortController().signal;

/** A call at a limit that nothing fits, whose owner does not answer. */
async function askedInVain() {
  const clock = new FakeClock();
  const budget = await Budget.open(new MemoryLedger(), { dailyUsd: 0.000_1 }, { clock });
  const question = Promise.withResolvers<AbortSignal>();
  const askOwner: SpendingStepsOptions['askOwner'] = (_question, stop) => {
    question.resolve(stop);
    return new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason), { once: true }));
  };
  const inner = inOrder(withBudget(paidModel(['answer']), budget, { clock }));
  const model = withSpendingSteps(inner, budget, { clock, waitMs: 0, askOwner });
  const call = collect(model.call(modelRequest('x'), signal));
  return { budget, call, stop: await question.promise };
}

test.each<[string, BudgetLimits]>([
  ['a higher limit', { dailyUsd: 10 }],
  ['no limit any more', {}],
])('a call that waits for the owner goes on with %s, and the question ends', async (_name, limits) => {
  const { budget, call, stop } = await askedInVain();
  budget.setLimits(limits);
  expect((await call).at(-1)).toMatchObject({ type: 'done', answer: { text: 'answer' } });
  expect(stop.aborted).toBe(true);
});

test('a limit that is raised by too little leaves the question open', async () => {
  const { budget, call, stop } = await askedInVain();
  budget.setLimits({ dailyUsd: 0.000_2 });
  await new Promise((resolve) => setImmediate(resolve));
  expect(stop.aborted).toBe(false);
  budget.setLimits({});
  await call;
});
