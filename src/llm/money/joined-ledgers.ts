import type { Journal, SpendingGroup } from '../../core/journal.ts';

type Ledger = Pick<Journal, 'spending'>;

/** Several ledgers as one: `gatehouse chat` has a journal of its own beside the daemon's, and the money is the same. */
export function joinedLedgers(ledgers: readonly Ledger[]): Ledger {
  return {
    async spending(query) {
      const sums = new Map<string, SpendingGroup>();
      for (const ledger of ledgers) {
        for (const group of await ledger.spending(query)) sums.set(group.key, added(sums.get(group.key), group));
      }
      return [...sums.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    },
  };
}

function added(sum: SpendingGroup | undefined, group: SpendingGroup): SpendingGroup {
  if (!sum) return group;
  return {
    key: sum.key,
    calls: sum.calls + group.calls,
    tokensIn: sum.tokensIn + group.tokensIn,
    tokensOut: sum.tokensOut + group.tokensOut,
    tokensCached: sum.tokensCached + group.tokensCached,
    costUsd: sum.costUsd + group.costUsd,
    unpriced: sum.unpriced + group.unpriced,
  };
}
