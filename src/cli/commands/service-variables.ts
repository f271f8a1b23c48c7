/** Variables of this shell that a service of systemd has not. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { variableOfEntry } from '../../lib/stored-variables.ts';
import { PROVIDERS } from '../../llm/providers/index.ts';
import { type CommandContext, dataDirOf } from '../context.ts';

/** `%E` of a unit of the user, as the unit names it. */
export function environmentFile({ deps }: CommandContext): string {
  return join(deps.env['XDG_CONFIG_HOME'] || join(deps.home, '.config'), 'gatehouse/environment');
}

/**
 * Names of variables that hold a key or a token here, and that neither the environment file nor the store of
 * logins has. Those count that the config names, and without a model in it those of providers, which a start
 * looks at.
 */
export async function unseenVariables(context: CommandContext, config: Config): Promise<readonly string[]> {
  const { env } = context.deps;
  const providers = PROVIDERS.flatMap(({ name, keyEnv }) => (keyEnv === undefined ? [] : [{ name, keyEnv }]));
  const names = new Set([...variablesIn(config), ...providers.map(({ keyEnv }) => keyEnv)]);
  const here = [...names].filter((name) => env[name]);
  if (here.length === 0) return [];
  const written = await readFile(environmentFile(context), 'utf8').catch(() => '');
  // A line with `export` is none that systemd reads.
  const there = new Set([...written.matchAll(/^\s*([A-Za-z_]\w*)=/gm)].map(([, name = '']) => name));
  for (const entry of await storedEntries(context)) {
    const variable = variableOfEntry(entry) ?? providers.find(({ name }) => name === entry)?.keyEnv;
    if (variable !== undefined) there.add(variable);
  }
  return here.filter((name) => !there.has(name));
}

/** Values of keys such as `token_env` and `api_key_envs`, at any depth. */
function variablesIn(value: unknown, key = ''): readonly string[] {
  if (typeof value === 'string') return /_envs?$/.test(key) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((one) => variablesIn(one, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => variablesIn(one, name));
}

async function storedEntries(context: CommandContext): Promise<readonly string[]> {
  const { openAuthStore } = await import('../../lib/auth/store.ts');
  await using store = openAuthStore({ dir: dataDirOf(context), clock: context.deps.clock });
  return (await store.list()).map(({ provider }) => provider);
}
