/** What tests of spending share: a ledger in memory, and a scripted model with a price. */
import type { Journal } from '../core/journal.ts';
import type { SpendingGroup, SpendingQuery, UsageEntry } from '../core/ledger.ts';
import type { Model, ModelFacts, Price } from '../core/model.ts';
import { addUp, type Sums } from '../llm/money/joined-ledgers.ts';
import { type Script, type ScriptedModel, scriptedModel } from './scripted-model.ts';

/** 10 USD a million tokens in, 100 out: 1,000 output tokens are 0.10 USD. */
export const PRICE: Price = { in: 10, out: 100 };

export function facts(override: Partial<ModelFacts> = {}): ModelFacts {
  return { maxOutputTokens: 1_000, vision: false, tools: true, price: PRICE, ...override };
}

export function paidModel(script: Script, override: Partial<ModelFacts> = {}, id = 'acme/large'): ScriptedModel {
  return { ...scriptedModel(script, { id }), facts: facts(override) };
}

/** A chain as the router makes it, for these tests: the next slot takes over from one that failed. */
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

/** The ledger half of the journal, in memory. Days are those of UTC. */
export class MemoryLedger implements Pick<Journal, 'spending' | 'spend'> {
  readonly entries: UsageEntry[] = [];

  async spend(entry: UsageEntry): Promise<void> {
    if (!this.entries.some(({ id }) => id === entry.id)) this.entries.push(entry);
  }

  async spending({ since, until = Number.POSITIVE_INFINITY, by }: SpendingQuery): Promise<readonly SpendingGroup[]> {
    const found = this.entries.filter(({ at }) => at >= since && at < until);
    const keyOf = (entry: UsageEntry): string | undefined => {
      if (by === 'model') return `${entry.provider}/${entry.model}`;
      return by === 'day' ? new Date(entry.at).toISOString().slice(0, 10) : entry[by];
    };
    const groups = Map.groupBy(found, keyOf);
    return [...groups].flatMap(([key, entries]) => (key === undefined ? [] : [{ key, ...addUp(entries.map(sumsOf)) }]));
  }
}

function sumsOf(entry: UsageEntry): Sums {
  const unpriced = entry.costUsd === null ? 1 : 0;
  return { ...entry, tokensCacheWrite: entry.tokensCacheWrite ?? 0, costUsd: entry.costUsd ?? 0, calls: 1, unpriced };
}
