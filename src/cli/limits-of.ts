import type { LoadedConfig } from '../../config/load.ts';
import { findKeyWithoutConfig, namesModel } from '../llm/detect.ts';
import type { BudgetLimits } from '../llm/money/budget.ts';
import { limitsFrom } from '../llm/money/limits.ts';
import { type CommandContext, dataDirOf, envOf } from './context.ts';

/** The limits on spending that the daemon would have with this config. Rejects as `findKeyWithoutConfig`. */
export async function limitsOf(context: CommandContext, config: LoadedConfig['config']): Promise<BudgetLimits> {
  if (config.budget || namesModel(config)) return limitsFrom(config.budget, { foundKey: false });
  const storedKey = (provider: string): Promise<string | undefined> => context.deps.storedKey(dataDirOf(context), provider);
  const found = await findKeyWithoutConfig({ config, env: await envOf(context), storedKey });
  return limitsFrom(undefined, { foundKey: found?.key !== undefined });
}
