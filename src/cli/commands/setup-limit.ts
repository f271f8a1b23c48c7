// the model that setup wrote down -> the limit of a day that goes into the config with it, and its words
import { namesModel } from '../../llm/detect.ts';
import { DEFAULT_DAILY_USD } from '../../llm/money/limits.ts';
import { type ModelConfig, resolveProvider } from '../../llm/providers/resolve.ts';
import type { CliDeps } from '../deps.ts';

export interface PaidModel {
  /** Known, or bounded from above; see `priceOf`. */
  readonly hasPrice: boolean;
}

/**
 * What a start is to pay for that finds the key of this model by itself: a start limits nothing where the
 * config names a model. Undefined where it names none, or needs no key. Throws as `resolveProvider`.
 */
export function paidModelOf(config: ModelConfig, env: CliDeps['env']): PaidModel | undefined {
  if (!namesModel(config)) return undefined;
  const { keyRequired, facts } = resolveProvider(config, env);
  return keyRequired ? { hasPrice: facts.price !== null } : undefined;
}

/** What is bought by mistake in a day stays small. A limit cannot count a price that is not known. */
export function limitPart(model: PaidModel | undefined): { budget?: { daily_usd: number } } {
  return model?.hasPrice === true ? { budget: { daily_usd: DEFAULT_DAILY_USD } } : {};
}

export function limitText({ hasPrice }: PaidModel): string {
  return hasPrice
    ? `models may cost ${DEFAULT_DAILY_USD} USD a day; change "budget.daily_usd" in the config`
    : 'what the model costs is not known, so nothing limits it: set its "price" in "model_hints", and "budget.daily_usd"';
}
