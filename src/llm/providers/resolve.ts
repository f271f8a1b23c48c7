/** From the model part of the config to provider, model, wire, address and facts. */
import { GatehouseError } from '../../core/errors.ts';
import type { ModelFacts, Price } from '../../core/model.ts';
import { DEFAULT_MODELS } from '../catalog/catalog.ts';
import { factsOf, type ModelHints } from '../catalog/facts.ts';
import { isLoopback } from '../catalog/price.ts';
import { baseUrlFor } from './base-url.ts';
import { findProvider, PROVIDERS, providerNames } from './index.ts';
import { type KeyNeed, keyVariables } from './key.ts';
import type { Env, Provider, Wire } from './provider.ts';
import { openaiCompatible } from './table.ts';

/** The model part of the config file, or one of its further models, in its own spelling (spec F2). */
export interface ModelConfig {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly base_url?: string | undefined;
  readonly api_key_env?: string | undefined;
  readonly api_key_envs?: readonly string[] | undefined;
  readonly api_type?: ApiType | undefined;
  readonly extra_headers?: Readonly<Record<string, string>> | undefined;
  readonly extra_body?: Readonly<Record<string, unknown>> | undefined;
  readonly model_hints?:
    | {
        readonly context_window?: number | undefined;
        readonly max_output_tokens?: number | undefined;
        readonly vision?: boolean | undefined;
        readonly tools?: boolean | undefined;
        readonly price?: PriceHint | undefined;
      }
    | undefined;
}

type PriceHint = Pick<Price, 'in' | 'out'> & { cached?: number | undefined; cache_write?: number | undefined };

export type ApiType = 'openai' | 'responses' | 'anthropic';

export interface ResolvedProvider extends KeyNeed {
  readonly model: string;
  readonly wire: Wire;
  /** As `wire` wants it, without a trailing slash. */
  readonly baseUrl: string;
  readonly contextWindow: number;
  readonly facts: ModelFacts;
  readonly hints: ModelHints;
  readonly extraHeaders?: Readonly<Record<string, string>>;
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

const WIRES: Readonly<Record<ApiType, Wire>> = { openai: 'openai-chat', responses: 'openai-responses', anthropic: 'anthropic' };

/**
 * Provider, model, wire and address from the config. Without a provider, a base_url alone means any
 * compatible server (a provider's key is never sent to another's address), `provider/model` names both, else
 * the model name decides (spec B1). `env` is for providers whose address and credentials are an account's.
 * Throws GH1104 for an unknown provider, GH1101 for a config that lacks something or contradicts itself.
 */
export function resolveProvider(config: ModelConfig, env: Env = {}): ResolvedProvider {
  const { provider: general, model: named } = chooseProvider(config);
  const model = named ?? DEFAULT_MODELS[general.name];
  if (!model)
    throw new GatehouseError('GH1101', `provider "${general.name}" needs a model`, { hint: 'add "model" to the config' });
  const wire = chooseWire(general, model, config);
  const address = general.address?.(env, wire, model);
  const provider = address === undefined ? general : { ...general, baseUrl: address };
  const baseUrl = baseUrlFor(provider, wire, config.base_url);
  const hints = toHints(config.model_hints);
  const { contextWindow, ...facts } = factsOf(provider, model, hints, baseUrl);
  const foreign = isForeign(provider, baseUrl);
  const keys = [config.api_key_env, ...(config.api_key_envs ?? [])].filter((name) => name !== undefined);
  const keyForAddress = keys.length > 0 && foreign;
  const credentials = keys.length > 0 ? undefined : provider.credentials?.(env, wire, model);
  return {
    ...{ provider, model, wire, baseUrl, contextWindow, facts, hints },
    keyEnvs: keyForAddress ? keys : keyVariables(provider, ...keys),
    keysNamed: keys.length,
    keyRequired: provider.keyRequired || keys.length > 0,
    keyForAddress,
    // A proxy on this machine is the operator's own.
    foreignAddress: foreign && !isLoopback(baseUrl),
    ...(credentials ? { credentials } : {}),
    ...(config.extra_headers ? { extraHeaders: config.extra_headers } : {}),
    ...(config.extra_body ? { extraBody: config.extra_body } : {}),
  };
}

/** Whose model it is. Throws as `resolveProvider` where no provider is known. */
export function providerFor(config: ModelConfig): Provider {
  return chooseProvider(config).provider;
}

function chooseProvider(config: ModelConfig): { provider: Provider; model: string | undefined } {
  const { provider: name, model } = config;
  if (name) return { provider: findProvider(name) ?? refuse(`there is no provider "${name}"`), model };
  if (config.base_url) return { provider: openaiCompatible, model };
  if (!model) {
    throw new GatehouseError('GH1101', 'the config names neither a provider nor a model', {
      hint: 'add "provider" or "model" to the config',
    });
  }
  const slash = model.indexOf('/');
  const prefixed = slash > 0 ? findProvider(model.slice(0, slash)) : undefined;
  if (prefixed) return { provider: prefixed, model: model.slice(slash + 1) };
  const lower = model.toLowerCase();
  const detected = PROVIDERS.find((provider) => provider.detect.some((pattern) => pattern.test(lower)));
  return { provider: detected ?? refuse(`no provider is known for the model "${model}"`), model };
}

function refuse(why: string): never {
  throw new GatehouseError('GH1104', why, { hint: `set "provider" in the config to one of: ${providerNames()}` });
}

function chooseWire(provider: Provider, model: string, { api_type, base_url }: ModelConfig): Wire {
  const lower = model.toLowerCase();
  const usual = provider.modelWires?.find(([pattern]) => pattern.test(lower))?.[1] ?? provider.wire;
  if (api_type === undefined) return usual;
  const asked = WIRES[api_type];
  // At an address of the operator's own only the operator knows what is spoken.
  if (base_url || asked === provider.wire || provider.otherWires?.includes(asked)) return asked;
  throw new GatehouseError('GH1101', `provider "${provider.name}" does not speak api_type "${api_type}"`, {
    hint: 'leave api_type out, or add the base_url of a server that speaks it',
  });
}

export function isForeign(provider: Provider, baseUrl: string): boolean {
  return provider.baseUrl !== undefined && new URL(provider.baseUrl).origin !== new URL(baseUrl).origin;
}

function toHints(config: ModelConfig['model_hints']): ModelHints {
  if (!config) return {};
  const { context_window, max_output_tokens, vision, tools, price } = config;
  return { contextWindow: context_window, maxOutputTokens: max_output_tokens, vision, tools, price: price && toPrice(price) };
}

function toPrice({ cached, cache_write: cacheWrite, ...rates }: PriceHint): Price {
  return { ...rates, ...(cached === undefined ? {} : { cached }), ...(cacheWrite === undefined ? {} : { cacheWrite }) };
}
