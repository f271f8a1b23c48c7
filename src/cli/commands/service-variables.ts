/** Variables of this shell that a service of systemd has not. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { variableOfEntry } from '../../lib/stored-variables.ts';
import { PROVIDERS } from '../../llm/providers/index.ts';
import type { KeyNeed } from '../../llm/providers/key.ts';
import { resolveProvider } from '../../llm/providers/resolve.ts';
import { speechServerOf } from '../../llm/transcription/speech-server.ts';
import { type CommandContext, dataDirOf } from '../context.ts';

/** `%E` of a unit of the user, as the unit names it. */
export function environmentFile({ deps }: CommandContext): string {
  return join(deps.env['XDG_CONFIG_HOME'] || join(deps.home, '.config'), 'gatehouse/environment');
}

/**
 * Names of variables that hold a key or a token here and are in use, and that neither the environment file
 * nor the store of logins has. In use are those that the config names and those of its models; where it names
 * no model, those of all providers, because a start looks at each.
 */
export async function unseenVariables(context: CommandContext, config: Config): Promise<readonly string[]> {
  const { env } = context.deps;
  const needs = needsOf(config, env);
  const names = new Set([...variablesIn(config), ...needs.flatMap((need) => keysUsed(need, env))]);
  const here = [...names].filter((name) => env[name]);
  if (here.length === 0) return [];
  const written = await readFile(environmentFile(context), 'utf8').catch(() => '');
  // A line with `export` is none that systemd reads.
  const there = new Set([...written.matchAll(/^\s*([A-Za-z_]\w*)=/gm)].map(([, name = '']) => name));
  const stored = await storedEntries(context);
  for (const entry of stored) there.add(variableOfEntry(entry) ?? entry);
  for (const { provider, keyEnvs, keyForAddress, foreignAddress } of needs)
    if (!keyForAddress && !foreignAddress && stored.includes(provider.name)) for (const name of keyEnvs) there.add(name);
  return here.filter((name) => !there.has(name));
}

type Need = Pick<KeyNeed, 'provider' | 'keyEnvs' | 'keysNamed' | 'keyForAddress' | 'foreignAddress'>;

/** Of all models of the config; where it names none, of all providers. */
export function needsOf(config: Config, env: CommandContext['deps']['env']): readonly Need[] {
  const { provider, model, base_url, fallback_models, models, transcription } = config;
  const further = [...fallback_models, ...Object.values(models)].flatMap((entry) => needOf(() => resolveProvider(entry, env)));
  const speech = transcription?.kind === 'openai' ? needOf(() => speechServerOf(transcription)) : [];
  const own = { keyForAddress: false, foreignAddress: false };
  const main: readonly Need[] =
    provider || model || base_url
      ? needOf(() => resolveProvider(config, env))
      : PROVIDERS.flatMap((one) => (one.keyEnv === undefined ? [] : [{ provider: one, keyEnvs: [one.keyEnv], ...own }]));
  return [...main, ...further, ...speech];
}

/** None for an entry that a start would refuse: it says so itself. */
function needOf(resolve: () => KeyNeed): readonly Need[] {
  try {
    return [resolve()];
  } catch {
    return [];
  }
}

/** Beside what the config names, the first variable that is set: others are not looked at. */
function keysUsed({ keyEnvs, keysNamed = 0 }: Need, env: CommandContext['deps']['env']): readonly string[] {
  const first = keyEnvs.find((name) => env[name]);
  return [...keyEnvs.slice(0, keysNamed), ...(first === undefined ? [] : [first])];
}

/** Values of keys such as `token_env`, `api_key_envs` and `headers_env`, at any depth. */
export function variablesIn(value: unknown, key = ''): readonly string[] {
  const isName = /_envs?$/.test(key);
  if (typeof value === 'string') return isName ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((one) => variablesIn(one, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => variablesIn(one, isName ? key : name));
}

async function storedEntries(context: CommandContext): Promise<readonly string[]> {
  const { openAuthStore } = await import('../../lib/auth/store.ts');
  await using store = openAuthStore({ dir: dataDirOf(context), clock: context.deps.clock });
  return (await store.list()).map(({ provider }) => provider);
}
