/** Which model the daemon starts with, and the lines that say so (ux.md 3): config, keys, servers of this machine, demo. */
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { type LocalServer, type ProbeOrigins, probeLocalServers } from './probe.ts';
import { type ModelConfig, PROVIDERS, type ResolvedProvider, resolveProvider } from './providers/index.ts';
import { UNAVAILABLE } from './providers/unavailable.ts';

export interface DetectOptions {
  readonly config: ModelConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Other addresses to probe than the usual ones: for tests. */
  readonly origins?: ProbeOrigins;
}

export interface Detected {
  /** Where it was found. `demo` = nothing was. */
  readonly source: 'config' | 'environment' | 'local' | 'demo';
  /** `provider/model`, or `demo`. */
  readonly id: string;
  /** For people, first line first; never the value of a key. */
  readonly lines: readonly string[];
  /** Absent for the demo. */
  readonly target?: ResolvedProvider;
  /** The key, kept out of reach of anything that prints the object. Undefined = call without one. */
  readonly apiKey: () => string | undefined;
}

/**
 * First hit wins. Throws GH1101, GH1103 or GH1104 when the config asks for something that cannot work: a configured model is never
 * replaced by another. Nothing is written anywhere. Rejects with `signal.reason` when aborted.
 */
export async function detectModel(options: DetectOptions): Promise<Detected> {
  const { config, env, signal } = options;
  signal.throwIfAborted();
  if (config.provider || config.model || config.base_url) return fromConfig(config, env);
  const keys = keysIn(env);
  if (keys[0]) return fromEnvironment(keys[0], keys.slice(1), config, env);
  const servers = await probeLocalServers(options);
  return fromServers(servers, config, env) ?? demo(servers, env);
}

function fromConfig(config: ModelConfig, env: DetectOptions['env']): Detected {
  const target = resolveProvider(config);
  const { provider, keyEnv } = target;
  const key = keyEnv === undefined ? undefined : env[keyEnv]?.trim();
  if (!key && keyEnv && (provider.keyRequired || config.api_key_env !== undefined)) {
    throw new GatehouseError('GH1103', `${keyEnv} is not set, and provider "${provider.name}" needs it`, {
      hint: `export ${keyEnv}=…`,
    });
  }
  return detected('config', target, key, [`${provider.name}/${target.model} from the config, at ${shown(target.baseUrl)}`]);
}

function keysIn(env: DetectOptions['env']): { provider: string; variable: string }[] {
  return PROVIDERS.flatMap((provider) =>
    provider.keyEnv && provider.baseUrl && env[provider.keyEnv]?.trim()
      ? [{ provider: provider.name, variable: provider.keyEnv }]
      : [],
  );
}

function fromEnvironment(
  first: { provider: string; variable: string },
  others: readonly { variable: string }[],
  config: ModelConfig,
  env: DetectOptions['env'],
): Detected {
  const baseUrlEnv = PROVIDERS.find((provider) => provider.name === first.provider)?.baseUrlEnv;
  const baseUrl = baseUrlEnv ? env[baseUrlEnv]?.trim() : undefined;
  const target = resolveProvider({ ...config, provider: first.provider, ...(baseUrl ? { base_url: baseUrl } : {}) });
  const lines = [`${target.provider.name}/${target.model} from ${first.variable} (paid by that key)`];
  if (baseUrl) lines.push(`at ${shown(target.baseUrl)} from ${baseUrlEnv}`);
  if (others.length > 0)
    lines.push(`also set, not used: ${others.map((other) => other.variable).join(', ')}; choose with "provider" in the config`);
  lines.push(...unusableKeys(env));
  return detected('environment', target, env[first.variable]?.trim(), lines);
}

function fromServers(servers: readonly LocalServer[], config: ModelConfig, env: DetectOptions['env']): Detected | undefined {
  const hit = servers.find((server) => server.found);
  if (!hit?.found) return undefined;
  const { provider, model, baseUrl } = hit.found;
  const window = config.context_window ?? Number(env['OLLAMA_CONTEXT_LENGTH']);
  const target = resolveProvider({
    provider: provider.name,
    model,
    base_url: baseUrl,
    ...(window > 0 ? { context_window: window } : {}),
  });
  const others = servers.filter((server) => server.found && server !== hit);
  const lines = [`${provider.name}/${model} from ${hit.label} (on this machine, no cost)`];
  if (others.length > 0) lines.push(`also running, not used: ${others.map((server) => server.label).join(', ')}`);
  lines.push(...unusableKeys(env));
  return detected('local', target, undefined, lines);
}

function demo(servers: readonly LocalServer[], env: DetectOptions['env']): Detected {
  const variables = PROVIDERS.filter((provider) => provider.keyEnv && provider.baseUrl).length;
  const looked = [`${variables} env keys (none)`, ...servers.map((server) => `${server.label} (${server.state})`)];
  return {
    source: 'demo',
    id: 'demo',
    lines: [
      'demo: no real AI. It cannot think; everything around it is real.',
      `looked for: ${looked.join(', ')}`,
      ...unusableKeys(env),
      '→ gatehouse init   or   export OPENAI_API_KEY=…   or   ollama pull qwen3:4b',
    ],
    apiKey: () => undefined,
  };
}

/** A key that is there and cannot be used is worth a word: else its owner wonders. */
function unusableKeys(env: DetectOptions['env']): string[] {
  const set = UNAVAILABLE.filter((provider) => env[provider.keyEnv]?.trim());
  return set.map((provider) => `${provider.keyEnv} is set, but ${provider.name} is not available in this version`);
}

function detected(
  source: 'config' | 'environment' | 'local',
  target: ResolvedProvider,
  key: string | undefined,
  lines: string[],
): Detected {
  return { source, id: `${target.provider.name}/${target.model}`, lines, target, apiKey: () => key || undefined };
}

/** Without its query, which may hold a key. */
function shown(baseUrl: string): string {
  const url = new URL(baseUrl);
  return `${url.origin}${url.pathname}`;
}
