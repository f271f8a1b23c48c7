import type { Usage } from '../../core/model.ts';
import { asRecord } from './tool-call-assembly.ts';

/** A token count as reported. Anything but a whole number ≥ 0 is none: it would spoil the ledger's sums. */
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

/** OpenRouter reports USD, xAI ten-billionths. OpenRouter's upstream bills the operator's own key too. */
export function reportedCost(usage: Readonly<Record<string, unknown>>): number | undefined {
  const { cost, is_byok: ownKey, cost_details: details, cost_in_usd_ticks: ticks } = usage;
  if (typeof ticks === 'number' && ticks >= 0) return ticks / 1e10;
  const upstream = ownKey === true ? asRecord(details)['upstream_inference_cost'] : 0;
  const isCost = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
  return isCost(cost) && isCost(upstream) ? cost + upstream : undefined;
}
