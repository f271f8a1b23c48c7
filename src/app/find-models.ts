// config and environment -> the model to start with, those that stand by, and those with a name
import type { LoadedConfig } from '../../config/load.ts';
import { GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { AuthStore } from '../lib/auth/store.ts';
import { systemClock } from '../lib/clock.ts';
import { type Detected, detectModel } from '../llm/detect.ts';
import { resolveKey } from '../llm/providers/key.ts';
import { type ModelConfig, resolveProvider } from '../llm/providers/resolve.ts';
import type { ModelEntry, NamedModelEntry } from './model-stack.ts';

/** For servers of this machine to show themselves, and for a login to be renewed. ms. */
const DETECTION_MS = 20_000;

export interface FoundModels {
  readonly detected: Detected;
  readonly fallbacks: readonly ModelEntry[];
  readonly named: readonly NamedModelEntry[];
}

/**
 * The model to start with and those that stand by. Rejects with GH11xx when one of them cannot work as
 * configured.
 */
export async function findModels(
  { config }: Pick<LoadedConfig, 'config'>,
  env: Readonly<Record<string, string | undefined>>,
  store: AuthStore,
): Promise<FoundModels> {
  const signal = AbortSignal.timeout(DETECTION_MS);
  const storedKey = (provider: string): Promise<string | undefined> => store.get(provider, signal);
  const detect = (entry: ModelConfig): Promise<Detected> =>
    detectModel({
      config: modelConfig(entry),
      ...{ env, storedKey, fetch, clock: systemClock, signal, hasBudget: config.budget !== undefined },
    });
  const resolve = async (place: string, entry: ModelConfig): Promise<ModelEntry> => {
    try {
      const target = resolveProvider(entry, env);
      return { target, key: await resolveKey(target, { env, storedKey }) };
    } catch (error) {
      if (!isGatehouseError(error)) throw error;
      throw new GatehouseError(error.code, `${place}: ${error.message}`, { hint: error.hint, cause: error });
    }
  };
  const found = await detect(config);
  const { fallback_models: spare } = config;
  // The demo never answers where a real model is configured (ux.md 3, rule 4).
  const promoted = found.source === 'demo' ? [...spare, ...Object.values(config.models)][0] : undefined;
  const detected = promoted ? await detect(promoted) : found;
  const fallbacks: ModelEntry[] = [];
  for (const [at, entry] of spare.entries())
    if (entry !== promoted) fallbacks.push(await resolve(`fallback_models[${at}]`, entry));
  const named: NamedModelEntry[] = [];
  for (const [name, entry] of Object.entries(config.models))
    named.push({ name, description: entry.description, ...(await resolve(`models.${name}`, entry)) });
  return { detected, fallbacks, named };
}

/** The model part of the whole config, or of one of its entries. */
function modelConfig({
  provider,
  model,
  base_url,
  api_key_env,
  api_key_envs,
  api_type,
  model_hints,
  ...more
}: ModelConfig): ModelConfig {
  const { extra_headers, extra_body } = more;
  return { provider, model, base_url, api_key_env, api_key_envs, api_type, model_hints, extra_headers, extra_body };
}
