/** Where a provider's key comes from (spec F2): stored login, variable of the config, provider's variable. */
import { GatehouseError } from '../../core/errors.ts';
import { keyFlaw } from '../../lib/key-form.ts';
import type { Credentials, Provider } from './provider.ts';

/** The key of a provider's stored login, if it has not expired. Rejects when the store cannot be read. */
export type StoredKey = (provider: string) => Promise<string | undefined>;

/** What a target says about its key. */
export interface KeyNeed {
  readonly provider: Provider;
  /** Variables that may hold the key, first hit wins. */
  readonly keyEnvs: readonly string[];
  /** The provider needs a key, or the config names one. */
  readonly keyRequired: boolean;
  /** So many of the first `keyEnvs` are named in the config, and all of their keys are used. */
  readonly keysNamed?: number;
  /** Requests are signed with these, and there is no key. */
  readonly credentials?: Credentials;
  /**
   * The address is not the provider's own and the config names the variable for it: the operator of that
   * server gets no other key.
   */
  readonly keyForAddress: boolean;
  /** The address is neither the provider's own nor on this machine: a login is not for it and is not sent. */
  readonly foreignAddress: boolean;
}

export interface KeySources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent: there is no store. */
  readonly storedKey?: StoredKey;
}

export interface FoundKey {
  /** `login`, or the name of a variable. */
  readonly from: string;
  /** Kept out of reach of anything that prints the object. */
  readonly value: () => string;
  /** Further keys, to be used when this one is refused or at its limit. */
  readonly more?: readonly FoundKey[];
}

/** Names to look under, without repetition: those of the config, the provider's, `{PROVIDER}_API_KEY`. */
export function keyVariables(provider: Provider, ...configured: readonly (string | undefined)[]): readonly string[] {
  const usual = `${provider.name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_API_KEY`;
  return [...new Set([...configured, provider.keyEnv, usual].filter((name) => name !== undefined))];
}

/** The key; undefined where a call needs none. Throws GH1103, which names the variable to set or to mend. */
export async function resolveKey(target: KeyNeed, { env, storedKey }: KeySources): Promise<FoundKey | undefined> {
  if (target.credentials) return undefined;
  const stored = target.keyForAddress || target.foreignAddress ? undefined : await storedKey?.(target.provider.name);
  if (stored) return { from: 'login', value: () => stored };
  const keys = target.keyEnvs.flatMap((from, index) => {
    const value = env[from]?.trim();
    return value ? [{ from, value: () => value, named: index < (target.keysNamed ?? 0) }] : [];
  });
  const [first, ...others] = keys;
  const more = others.filter((key) => key.named).map(({ from, value }) => ({ from, value }));
  for (const used of first ? [first, ...more] : []) mustBeKey(used);
  if (first) return { from: first.from, value: first.value, ...(more.length > 0 ? { more } : {}) };
  if (!target.keyRequired) return undefined;
  const name = target.keyEnvs[0] ?? '';
  throw new GatehouseError('GH1103', `${name} is not set, and provider "${target.provider.name}" needs it`, {
    hint: `export ${name}=…`,
  });
}

/** Throws GH1103 for a text that no key can be. */
export function mustBeKey({ from, value }: FoundKey): void {
  const flaw = keyFlaw(value());
  if (flaw === undefined) return;
  throw new GatehouseError('GH1103', `the key in ${from} ${flaw}`, { hint: `export ${from} with the key alone, or unset it` });
}
