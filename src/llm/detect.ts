/** Which model the daemon starts with, and the lines on it (ux.md 3): config, keys, local servers, demo. */
import type { Clock } from '../core/ports.ts';
import { shownUrl } from '../lib/echo-redactor.ts';
import { isLoopback } from './catalog/price.ts';
import { DEFAULT_DAILY_USD } from './money/limits.ts';
import { type LocalServer, ollamaOrigin, type ProbeOrigins, probeLocalServers } from './probe.ts';
import { PROVIDERS } from './providers/index.ts';
import { type FoundKey, type KeySources, mustBeKey, resolveKey } from './providers/key.ts';
import { ollama } from './providers/ollama.ts';
import type { Provider } from './providers/provider.ts';
import { type ModelConfig, type ResolvedProvider, resolveProvider } from './providers/resolve.ts';
import { gemini, openai } from './providers/table.ts';

export interface DetectOptions extends KeySources {
  readonly config: ModelConfig;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The config sets spending limits of its own: then there is no default one. */
  readonly hasBudget?: boolean;
  /** Spent since midnight, for the line about the limit. Absent = not told. */
  readonly spentTodayUsd?: number;
  /** Other addresses to probe than the usual ones: for tests. */
  readonly origins?: ProbeOrigins;
}

export interface Detected {
  /** Where it was found. `demo` = nothing was. `login` = a stored one, without a config. */
  readonly source: 'config' | 'login' | 'environment' | 'local' | 'demo';
  /** `provider/model`, or `demo`. */
  readonly id: string;
  /** For people, first line first; never the value of a key. */
  readonly lines: readonly string[];
  /** Absent for the demo. */
  readonly target?: ResolvedProvider;
  /** USD a day to enforce because nobody chose to spend on this key yet; absent = none. */
  readonly defaultDailyUsd?: number;
  /** Absent = none was needed or found: call without one. */
  readonly key?: FoundKey;
}

/**
 * The first hit wins. Throws GH1101, GH1103 or GH1104 when the config asks for something that cannot work: a
 * configured model is never replaced by another. Writes nothing. Rejects with `signal.reason` when aborted.
 */
export async function detectModel(options: DetectOptions): Promise<Detected> {
  const { config, signal } = options;
  signal.throwIfAborted();
  if (namesModel(config)) return await fromConfig(config, options);
  const found = await findKeyWithoutConfig(options);
  signal.throwIfAborted();
  if (found) return found;
  const servers = await probeLocalServers(options);
  return fromServers(servers, options) ?? demo(servers);
}

/** Whether the config chooses a model; else keys and servers that are found decide. */
export function namesModel({ provider, model, base_url }: ModelConfig): boolean {
  return Boolean(provider || model || base_url);
}

async function fromConfig(config: ModelConfig, sources: KeySources): Promise<Detected> {
  const target = resolveProvider(config, sources.env);
  const key = await resolveKey(target, sources);
  const { api_key_env: named } = config;
  return detected('config', target, key, [
    `${idOf(target)} from the config, at ${shownUrl(target.baseUrl)}`,
    ...(named !== undefined && key && key.from !== named ? [`the key is ${sourceText(key)}, not from ${named}`] : []),
  ]);
}

/** Names that other tools give to the address of a provider, beside its own `baseUrlEnv`. */
const FURTHER_BASE_URLS: Readonly<Record<string, string>> = { openai: 'OPEN_AI_BASE' };

/**
 * What the environment says, first hit wins (spec otto-platform R47): USE_GEMINI, USE_OLLAMA; a stored login,
 * which was given to this program; a key of Gemini, OLLAMA_MODEL, a key of OpenAI; then the keys of all
 * providers in the order of the registry. Needs no network. Undefined = it says nothing. Throws GH1103 when a
 * provider that a USE_ variable asks for has no key.
 */
export async function findKeyWithoutConfig(
  options: KeySources & Pick<DetectOptions, 'config' | 'hasBudget' | 'spentTodayUsd'>,
): Promise<Detected | undefined> {
  const { env, storedKey } = options;
  const keys = keysIn(env);
  if (isOn(env['USE_GEMINI'])) {
    const key = await resolveKey(resolveProvider({ provider: 'gemini' }), options);
    const others = keys.filter(({ provider }) => provider !== gemini);
    return key && fromKey({ provider: gemini, key }, others, options);
  }
  if (isOn(env['USE_OLLAMA'])) return fromOllama(options);
  for (const provider of PROVIDERS) {
    const stored = provider.baseUrl ? await storedKey?.(provider.name) : undefined;
    if (stored) return fromKey({ provider, key: { from: 'login', value: () => stored } }, keys, options);
  }
  const [first, ...others] = keys;
  if (env['OLLAMA_MODEL']?.trim() && first?.provider !== gemini) return fromOllama(options);
  return first && fromKey(first, others, options);
}

function isOn(value: string | undefined): boolean {
  return /^(?:1|true|yes|on)$/i.test(value?.trim() ?? '');
}

/** The config names them for the model it chooses, and it chose none. */
const NO_KEYS = { api_key_env: undefined, api_key_envs: undefined };

/** At OLLAMA_HOST, whether it answers or not: it was asked for by name. */
function fromOllama({ env, config }: Pick<DetectOptions, 'env' | 'config'>): Detected {
  const model = env['OLLAMA_MODEL']?.trim() || undefined;
  const base_url = `${ollamaOrigin(env['OLLAMA_HOST'])}/v1`;
  const target = resolveProvider({ ...config, ...NO_KEYS, provider: ollama.name, model, base_url });
  const from = model === undefined ? 'USE_OLLAMA' : 'OLLAMA_MODEL';
  return detected('local', target, undefined, [`${idOf(target)} from ${from}, at ${shownUrl(target.baseUrl)}`]);
}

interface ProviderKey {
  readonly provider: Provider;
  readonly key: FoundKey;
}

function keysIn(env: DetectOptions['env']): ProviderKey[] {
  const order = [gemini, openai, ...PROVIDERS.filter((provider) => provider !== gemini && provider !== openai)];
  return order.flatMap((provider) => {
    const { keyEnv, baseUrl } = provider;
    const value = keyEnv && baseUrl ? env[keyEnv]?.trim() : undefined;
    return keyEnv && value ? [{ provider, key: { from: keyEnv, value: () => value } }] : [];
  });
}

function fromKey(
  { provider, key }: ProviderKey,
  others: readonly ProviderKey[],
  options: KeySources & Pick<DetectOptions, 'config' | 'hasBudget' | 'spentTodayUsd'>,
): Detected {
  const { env, config } = options;
  mustBeKey(key);
  // Key and address of the environment belong together; a login is for the provider's own address.
  const addressEnvs = key.from === 'login' ? [] : [provider.baseUrlEnv, FURTHER_BASE_URLS[provider.name]];
  const baseUrlEnv = addressEnvs.find((name) => name && env[name]?.trim());
  const baseUrl = baseUrlEnv && env[baseUrlEnv]?.trim();
  const target = resolveProvider({ ...config, ...NO_KEYS, provider: provider.name, ...(baseUrl ? { base_url: baseUrl } : {}) });
  const lines = [`${idOf(target)} ${sourceText(key)} (${moneyText(options)})`];
  if (baseUrl) lines.push(`at ${shownUrl(target.baseUrl)} from ${baseUrlEnv}`);
  if (others.length > 0) {
    const names = others.map((other) => other.key.from).join(', ');
    lines.push(`also set, not used: ${names}; choose with "provider" in the config`);
  }
  const source = key.from === 'login' ? 'login' : 'environment';
  return {
    ...detected(source, target, key, lines),
    ...(options.hasBudget ? {} : { defaultDailyUsd: DEFAULT_DAILY_USD }),
  };
}

function moneyText({ hasBudget, spentTodayUsd }: Pick<DetectOptions, 'hasBudget' | 'spentTodayUsd'>): string {
  if (hasBudget) return 'paid; limits as in the config';
  const limit = DEFAULT_DAILY_USD.toFixed(2);
  if (spentTodayUsd === undefined) return `paid; default limit ${limit} USD a day, change it with "budget" in the config`;
  return `paid; today ${spentTodayUsd.toFixed(2)} of ${limit} USD default limit`;
}

function fromServers(servers: readonly LocalServer[], { config, env }: DetectOptions): Detected | undefined {
  const hit = servers.find((server) => server.found);
  if (!hit?.found) return undefined;
  const { provider, model, baseUrl } = hit.found;
  const window = config.model_hints?.context_window ?? Number(env['OLLAMA_CONTEXT_LENGTH']);
  const target = resolveProvider({
    ...config,
    ...NO_KEYS,
    provider: provider.name,
    model,
    base_url: baseUrl,
    model_hints: {
      // What answers at the usual port of such a program runs its models itself.
      ...(provider.runsLocally || !isLoopback(baseUrl) ? {} : { price: { in: 0, out: 0 } }),
      ...config.model_hints,
      ...(window > 0 ? { context_window: window } : {}),
    },
  });
  const others = servers.filter((server) => server.found && server !== hit);
  const where = isLoopback(baseUrl) ? 'on this machine, no cost' : `at ${shownUrl(baseUrl)}`;
  const lines = [`${idOf(target)} from ${hit.label} (${where})`];
  if (others.length > 0) lines.push(`also running, not used: ${others.map((server) => server.label).join(', ')}`);
  return detected('local', target, undefined, lines);
}

function demo(servers: readonly LocalServer[]): Detected {
  const variables = PROVIDERS.filter((provider) => provider.keyEnv && provider.baseUrl).length;
  const looked = [`${variables} env keys (none)`, ...servers.map((server) => `${server.label} (${server.state})`)];
  return {
    source: 'demo',
    id: 'demo',
    lines: [
      'demo: no real AI. It cannot think; everything around it is real.',
      `looked for: ${looked.join(', ')}`,
      '→ gatehouse setup   or   export ANTHROPIC_API_KEY=…   or   ollama pull qwen3:4b',
    ],
  };
}

function detected(
  source: 'config' | 'login' | 'environment' | 'local',
  target: ResolvedProvider,
  key: FoundKey | undefined,
  lines: readonly string[],
): Detected {
  return { source, id: idOf(target), lines, target, ...(key ? { key } : {}) };
}

function idOf({ provider, model }: ResolvedProvider): string {
  return `${provider.name}/${model}`;
}

function sourceText({ from }: FoundKey): string {
  return from === 'login' ? 'from the stored login' : `from ${from}`;
}
