/**
 * Secrets of channels in the private file of logins, by the name of the environment variable that the config
 * names. What is exported wins: who sets a variable means it.
 */
import type { AuthStore } from './auth/store.ts';

const PREFIX = 'variable.';
/** As the config writes them; the file has its names in small letters. */
const VARIABLE = /^[A-Z_][A-Z0-9_]{0,54}$/;

/** The name of its entry in the file; undefined for a name that has small letters, or is too long. */
export function entryOfVariable(variable: string): string | undefined {
  return VARIABLE.test(variable) ? `${PREFIX}${variable.toLowerCase()}` : undefined;
}

/** The variable that an entry is of; undefined for a provider. */
export function variableOfEntry(entry: string): string | undefined {
  return entry.startsWith(PREFIX) ? entry.slice(PREFIX.length).toUpperCase() : undefined;
}

/**
 * The environment with what is stored for variables that are not set. Rejects with GH2202 as the store does.
 */
export async function withStoredVariables(
  env: Readonly<Record<string, string | undefined>>,
  store: AuthStore,
): Promise<Readonly<Record<string, string | undefined>>> {
  const stored: Record<string, string> = {};
  for (const { provider } of await store.list()) {
    const variable = variableOfEntry(provider);
    if (variable === undefined || env[variable]) continue;
    const value = await store.get(provider, AbortSignal.timeout(1_000));
    if (value !== undefined) stored[variable] = value;
  }
  return Object.keys(stored).length === 0 ? env : { ...env, ...stored };
}
