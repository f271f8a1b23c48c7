import type { BudgetLimits } from './budget.ts';

/** The limit where a key was found in the environment and nobody configured anything: a forgotten key must not cost much. */
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
 * The limits a daemon starts with. `foundKey`: the model comes from a key of the environment and there is no config file; then
 * without a section there is a limit a day of 2 USD.
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
