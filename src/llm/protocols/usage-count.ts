import type { Usage } from '../../core/model.ts';

/** A token count as a provider reports it. Anything but a whole number from 0 on is none: one such row would spoil every sum of the ledger. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The usage, without what is not told. */
export function usageOf(
  counts: Pick<Usage, 'tokensIn' | 'tokensOut'>,
  told: { readonly [Part in 'cached' | 'written' | 'reasoning' | 'costUsd']?: number | undefined },
): Usage {
  const { cached = 0, written, reasoning, costUsd } = told;
  return {
    ...{ ...counts, tokensCached: cached },
    ...(written ? { tokensCacheWrite: written } : {}),
    ...(reasoning === undefined ? {} : { tokensReasoning: reasoning }),
    ...(costUsd === undefined ? {} : { costUsd }),
  };
}
