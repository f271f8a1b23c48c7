/** The registry: one line per provider. */
import { GatehouseError } from '../../core/errors.ts';
import { dashscope } from './dashscope.ts';
import { deepseek } from './deepseek.ts';
import { groq } from './groq.ts';
import { minimax } from './minimax.ts';
import { moonshot } from './moonshot.ts';
import { nvidia } from './nvidia.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { openaiCompatible } from './openai-compatible.ts';
import { openrouter } from './openrouter.ts';
import { DEFAULT_CONTEXT_WINDOW, type Provider } from './provider.ts';
import { UNAVAILABLE, type UnavailableProvider } from './unavailable.ts';
import { vllm } from './vllm.ts';
import { zhipu } from './zhipu.ts';

/** In the order in which keys of the environment are looked for: the first that is set wins. Documented; do not reorder. */
export const PROVIDERS: readonly Provider[] = [
  openai,
  openrouter,
  deepseek,
  groq,
  moonshot,
  dashscope,
  minimax,
  zhipu,
  nvidia,
  ollama,
  vllm,
  openaiCompatible,
];

/** The model part of the config file, in its own spelling (spec F2). */
export interface ModelConfig {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly base_url?: string | undefined;
  readonly api_key_env?: string | undefined;
  readonly context_window?: number | undefined;
}

export interface ResolvedProvider {
  readonly provider: Provider;
  readonly model: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Variable that holds the key; absent = none is needed or known. */
  readonly keyEnv?: string;
  readonly contextWindow: number;
}

function findProvider(name: string): Provider | undefined {
  const wanted = name.trim().toLowerCase();
  return PROVIDERS.find((provider) => provider.name === wanted || provider.aliases.includes(wanted));
}

/** Tokens the model can take, by the provider's data. */
function contextWindowOf(provider: Provider, model: string): number {
  const name = model.toLowerCase();
  return provider.contextWindows.find(([pattern]) => pattern.test(name))?.[1] ?? DEFAULT_CONTEXT_WINDOW;
}

/**
 * Provider, model and address from the config. Without a provider: a base_url alone means any compatible server (a provider's key
 * is never sent to an address somebody else runs), `provider/model` names both, else the model name decides (spec B1).
 * Throws GH1104 for a provider that does not exist here, GH1101 for a config that lacks something.
 */
export function resolveProvider(config: ModelConfig): ResolvedProvider {
  const { provider, model: named } = chooseProvider(config);
  const model = named ?? provider.defaultModel;
  if (!model)
    throw new GatehouseError('GH1101', `provider "${provider.name}" needs a model`, { hint: 'add "model" to the config' });
  const keyEnv = config.api_key_env ?? provider.keyEnv;
  return {
    provider,
    model,
    baseUrl: parseBaseUrl(config.base_url ?? provider.baseUrl, provider.name),
    ...(keyEnv === undefined ? {} : { keyEnv }),
    contextWindow: config.context_window ?? contextWindowOf(provider, model),
  };
}

function chooseProvider(config: ModelConfig): { provider: Provider; model: string | undefined } {
  const { provider: name, model } = config;
  if (name) return { provider: findProvider(name) ?? refuse(name), model };
  if (config.base_url) return { provider: openaiCompatible, model };
  if (!model) {
    throw new GatehouseError('GH1101', 'the config names neither a provider nor a model', {
      hint: 'add "provider" or "model" to the config',
    });
  }
  const slash = model.indexOf('/');
  const prefix = slash > 0 ? model.slice(0, slash) : '';
  const named = prefix ? findProvider(prefix) : undefined;
  if (named) return { provider: named, model: model.slice(slash + 1) };
  const missing = UNAVAILABLE.find(
    (other) => isCalled(other, prefix) || other.detect.some((pattern) => pattern.test(model.toLowerCase())),
  );
  if (missing) return refuse(missing.name);
  const detected = PROVIDERS.find((provider) => provider.detect.some((pattern) => pattern.test(model.toLowerCase())));
  if (detected) return { provider: detected, model };
  throw new GatehouseError('GH1104', `no provider is known for the model "${model}"`, {
    hint: `add "provider" to the config, one of: ${providerNames()}`,
  });
}

function refuse(name: string): never {
  const known = UNAVAILABLE.find((other) => isCalled(other, name));
  const why = known ? `provider "${known.name}" is not available in this version` : `there is no provider "${name}"`;
  throw new GatehouseError('GH1104', why, { hint: `these work now: ${providerNames()}` });
}

function isCalled(provider: UnavailableProvider, name: string): boolean {
  const wanted = name.trim().toLowerCase();
  return provider.name === wanted || provider.aliases.includes(wanted);
}

function providerNames(): string {
  return PROVIDERS.map((provider) => provider.name).join(', ');
}

/** The address is not repeated in the error: it may hold a password. */
function parseBaseUrl(text: string | undefined, provider: string): string {
  if (!text)
    throw new GatehouseError('GH1101', `provider "${provider}" needs a base_url`, { hint: 'add "base_url" to the config' });
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new GatehouseError('GH1101', 'base_url is not an http or https URL', {
      hint: 'write it like "http://127.0.0.1:8000/v1"',
    });
  }
  if (url.username || url.password) {
    throw new GatehouseError('GH1101', 'base_url holds a user name or password', {
      hint: 'put the key into a variable and name it in api_key_env',
    });
  }
  return text.replace(/\/+$/, '');
}
