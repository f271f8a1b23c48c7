import type { Provider } from './provider.ts';
import { PROVIDERS } from './table.ts';

export { PROVIDERS };

/** By name or alias, in any case. */
export function findProvider(name: string): Provider | undefined {
  const wanted = name.trim().toLowerCase();
  return PROVIDERS.find((provider) => provider.name === wanted || provider.aliases.includes(wanted));
}

/** For messages: every name, in the documented order. */
export function providerNames(): string {
  return PROVIDERS.map((provider) => provider.name).join(', ');
}
