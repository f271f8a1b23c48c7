import { asRecord } from './tool-call-assembly.ts';

/** A token count as a provider reports it. Anything but a whole number from 0 on is none: one such row would spoil every sum of the ledger. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** OpenRouter reports USD, xAI ten-billionths; with a key of the operator's own OpenRouter's upstream bills beside it. */
export function reportedCost(usage: Readonly<Record<string, unknown>>): { costUsd?: number } {
  const { cost, is_byok: ownKey, cost_details: details, cost_in_usd_ticks: ticks } = usage;
  if (typeof ticks === 'number' && ticks >= 0) return { costUsd: ticks / 1e10 };
  const upstream = ownKey === true ? asRecord(details)['upstream_inference_cost'] : 0;
  const isCost = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
  return isCost(cost) && isCost(upstream) ? { costUsd: cost + upstream } : {};
}
