/** Ids of the ledger's rows for model calls. */

/** The row of the ledger for the model call of a run whose answer is step `n`. */
export function usageId(run: string, n: number): string {
  return `${run}#u${n}`;
}

/** All rows of the ledger for the model calls of this run lie between these. */
export function ownUsage(run: string): readonly [from: string, to: string] {
  return [`${run}#u`, `${run}#v`];
}

/** Those of the run and of all runs that it led to: the key of each begins with the key of its parent. */
export function usageOfTree(run: string): readonly [from: string, to: string] {
  return [`${run}#`, `${run}$`];
}
