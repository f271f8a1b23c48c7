import type { BudgetLimits } from './budget.ts';

/** ux.md 3: what a key may cost a day that was found and not chosen: its owner may have forgotten it. */
export const DEFAULT_DAILY_USD = 2;

/** The `budget` section of the config file, in its own spelling. */
interface BudgetSection {
  readonly daily_usd?: number | undefined;
  readonly session_usd?: number | undefined;
  readonly sender_usd?: number | undefined;
  readonly job_usd?: number | undefined;
  readonly allow_unknown_price: boolean;
}

/**
 * The limits a daemon starts with. `foundKey`: the model comes from a key that was found (environment or
 * stored login), not from a config. Without a section the limit is then 2 USD a day.
 */
export function limitsFrom(section: BudgetSection | undefined, options: { readonly foundKey: boolean }): BudgetLimits {
  if (!section) return options.foundKey ? { dailyUsd: DEFAULT_DAILY_USD } : {};
  const { daily_usd, session_usd, sender_usd, job_usd, allow_unknown_price } = section;
  return {
    ...(daily_usd === undefined ? {} : { dailyUsd: daily_usd }),
    ...(session_usd === undefined ? {} : { sessionUsd: session_usd }),
    ...(sender_usd === undefined ? {} : { senderUsd: sender_usd }),
    ...(job_usd === undefined ? {} : { jobUsd: job_usd }),
    allowUnknownPrice: allow_unknown_price,
  };
}
