/** What tests of spending share: a ledger in memory, and a scripted model with a price. */
import type { Journal, SpendingGroup, SpendingQuery, UsageEntry } from '../core/journal.ts';
import type { Model, ModelFacts, Price } from '../core/model.ts';
import { type Script, type ScriptedModel, scriptedModel } from './scripted-model.ts';

/** 10 USD a million tokens in, 100 out: 1,000 output tokens are 0.10 USD. */
export const PRICE: Price = { in: 10, out: 100 };

export function facts(override: Partial<ModelFacts> = {}): ModelFacts {
  return { maxOutputTokens: 1_000, vision: false, tools: true, price: PRICE, ...override };
}

export function paidModel(script: Script, override: Partial<ModelFacts> = {}, id = 'acme/large'): ScriptedModel {
  return { ...scriptedModel(script, { id }), facts: facts(override) };
}

/** A chain as the router makes it, as far as these tests need one: the next slot takes over from one that failed. */
export function inOrder(...slots: readonly Model[]): Model {
  return {
    id: 'test/chain',
    contextWindow: 128_000,
    async *call(request, signal) {
      for (const [i, slot] of slots.entries()) {
        for await (const event of slot.call(request, signal)) {
          if (event.type === 'failed' && i < slots.length - 1) break;
          yield event;
          if (event.type === 'done' || event.type === 'failed') return;
        }
      }
    },
  };
}

/** The ledger half of the journal, in memory. */
export class MemoryLedger implements Pick<Journal, 'usage' | 'spending' | 'spend'> {
  readonly entries: UsageEntry[] = [];

  async spend(entry: UsageEntry): Promise<void> {
    if (!this.entries.some(({ id }) => id === entry.id)) this.entries.push(entry);
  }

  async usage(since: number): Promise<readonly UsageEntry[]> {
    return this.entries.filter(({ at }) => at >= since);
  }

  /** By job only: what a budget asks for. */
  async spending({ since, by }: SpendingQuery): Promise<readonly SpendingGroup[]> {
    if (by !== 'job') throw new Error('the memory ledger adds up by job only');
    const sums = new Map<string, number>();
    for (const { job, at, costUsd } of this.entries) {
      if (job !== undefined && at >= since) sums.set(job, (sums.get(job) ?? 0) + (costUsd ?? 0));
    }
    const none = { calls: 0, tokensIn: 0, tokensOut: 0, tokensCached: 0, unpriced: 0 };
    return [...sums].map(([key, costUsd]) => ({ key, costUsd, ...none }));
  }
}
