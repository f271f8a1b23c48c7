import type { LoadedConfig } from '../../config/load.ts';
import { findKeyWithoutConfig, namesModel } from '../llm/detect.ts';
import type { BudgetLimits } from '../llm/money/budget.ts';
import { limitsFrom } from '../llm/money/limits.ts';
import { type CommandContext, dataDirOf, envOf } from './context.ts';

/**
 * The limits on spending that the daemon would have with this config. Needs no network: that a login is there
 * decides, and one that has expired is not renewed. Rejects as `findKeyWithoutConfig`.
 */
export async function limitsOf(context: CommandContext, config: LoadedConfig['config']): Promise<BudgetLimits> {
  if (config.budget || namesModel(config)) return limitsFrom(config.budget, { foundKey: false });
  const { openAuthStore } = await import('../lib/auth/store.ts');
  await using store = openAuthStore({ dir: dataDirOf(context), clock: context.deps.clock });
  const stored = new Set((await store.list()).map(({ provider }) => provider));
  const storedKey = async (provider: string) => (stored.has(provider) ? 'a-login' : undefined);
  const found = await findKeyWithoutConfig({ config, env: await envOf(context), storedKey });
  return limitsFrom(undefined, { foundKey: found?.key !== undefined });
}
