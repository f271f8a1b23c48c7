import { expect, test } from 'vitest';
import type { UsageEntry } from '../core/ledger.ts';
import type { Model, ModelEvent } from '../core/model.ts';
import { collect, modelRequest } from '../llm/contract.ts';
import { createFailure } from '../llm/failure.ts';
import { failureText } from '../llm/failure-text.ts';
import { Budget } from '../llm/money/budget.ts';
import { withBudget } from '../llm/money/with-budget.ts';
import { FakeClock } from '../testing/fakes.ts';
import { facts, MemoryLedger } from '../testing/paid-model.ts';
import { UnwrittenSpending, withWrittenSpending } from './unwritten-spending.ts';

const signal = new AbortController().signal;

/** A ledger on a disk that may be full, and a model that bills 25 tokens of each call and breaks it off. */
async function scene(limits: object = { dailyUsd: 1 }) {
  const clock = new FakeClock();
  const ledger = new MemoryLedger();
  const disk = { isFull: true };
  const failures: unknown[] = [];
  const full = {
    async spend(entry: UsageEntry): Promise<void> {
      if (disk.isFull) throw new Error('the disk is full');
      await ledger.spend(entry);
    },
  };
  const spent = new UnwrittenSpending(full, (error) => failures.push(error));
  const sent = { calls: 0 };
  const usage = { tokensIn: 25, tokensOut: 25, tokensCached: 0 };
  const wire: Model = {
    ...{ id: 'openai/m', contextWindow: 8_000, facts: facts() },
    async *call(): AsyncGenerator<ModelEvent> {
      sent.calls += 1;
      yield { type: 'failed', failure: { ...createFailure('timeout', { message: 'it broke off' }), usage } };
    },
  };
  const budget = await Budget.open(ledger, limits, { clock });
  const model = withWrittenSpending(withBudget(wire, budget, { clock, onUnfinished: spent.record }), budget, spent);
  const call = async () => (await collect(model.call(modelRequest('x'), signal))).at(-1);
  return { call, disk, ledger, sent, failures };
}

test('while the price of a call cannot be written down, no call that a limit counts is made', async () => {
  const at = await scene();
  expect(await at.call()).toMatchObject({ failure: { kind: 'timeout' } });
  const refused = await at.call();
  expect(refused).toMatchObject({
    failure: { kind: 'budget', code: 'GH1301', message: expect.stringContaining('the disk is full') },
  });
  if (refused?.type === 'failed') expect(failureText(refused.failure)).toMatch(/disk is full.*\(GH1301\)$/);
  expect([at.sent.calls, at.failures.length, at.ledger.entries.length]).toEqual([1, 1, 0]);
});

test('once there is room the kept price is written before the next call, once', async () => {
  const at = await scene();
  await at.call();
  at.disk.isFull = false;
  expect(await at.call()).toMatchObject({ failure: { kind: 'timeout' } });
  await at.call();
  expect([at.sent.calls, new Set(at.ledger.entries.map(({ id }) => id)).size]).toEqual([3, 3]);
});

test('without a limit nothing can be overspent, and calls go on', async () => {
  const at = await scene({});
  await at.call();
  expect(await at.call()).toMatchObject({ failure: { kind: 'timeout' } });
  expect(at.sent.calls).toBe(2);
});
