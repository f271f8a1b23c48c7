import { GatehouseError } from '../core/errors.ts';
import type { KeyNeed } from '../llm/providers/key.ts';

/** The key of a stored login now, by provider; undefined = nobody is logged in. Rejects as the store does. */
export type Login = (provider: string, signal: AbortSignal) => Promise<string | undefined>;

/**
 * The login as it is now, for a target that began with one. Rejects with GH2202 after a logout where a key is
 * needed: without one the provider would only learn what was said.
 */
export async function currentLogin(
  { provider, keyRequired }: Pick<KeyNeed, 'provider' | 'keyRequired'>,
  login: Login,
  signal: AbortSignal,
): Promise<string | undefined> {
  const key = await login(provider.name, signal);
  if (key !== undefined || !keyRequired) return key;
  throw new GatehouseError('GH2202', `nobody is logged in to ${provider.name} any more`, {
    hint: `run \`gatehouse auth login ${provider.name}\``,
  });
}
