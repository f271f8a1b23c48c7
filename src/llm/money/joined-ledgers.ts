import type { SpendingGroup, SpendingReader } from '../../core/ledger.ts';

export type Sums = Omit<SpendingGroup, 'key'>;

const NOTHING: Sums = { calls: 0, tokensIn: 0, tokensOut: 0, tokensCached: 0, tokensCacheWrite: 0, costUsd: 0, unpriced: 0 };
const FIELDS = Object.keys(NOTHING) as readonly (keyof Sums)[];

/** Several ledgers as one: `gatehouse chat` has its own journal beside the daemon's, for the same money. */
export function joinedLedgers(ledgers: readonly SpendingReader[]): SpendingReader {
  return {
    async spending(query) {
      const found = (await Promise.all(ledgers.map((ledger) => ledger.spending(query)))).flat();
      const byKey = Map.groupBy(found, ({ key }) => key);
      return [...byKey].map(([key, groups]) => ({ key, ...addUp(groups) })).sort((a, b) => (a.key < b.key ? -1 : 1));
    },
  };
}

export function addUp(groups: readonly Sums[]): Sums {
  const sum: Record<keyof Sums, number> = { ...NOTHING };
  for (const group of groups) for (const field of FIELDS) sum[field] += group[field];
  return sum;
}
