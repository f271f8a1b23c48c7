import { GatehouseError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import type { Slot } from './slot.ts';

/** A model that can be asked for by name: `sub_providers` of the config. */
export interface RouterEntry extends Slot {
  /** Unique, as the operator wrote it. */
  readonly key: string;
  /** What it is good for; the agent reads this when it chooses. */
  readonly description?: string;
}

export interface ProviderRouterOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** How long a model that failed is not offered as a fallback. ms, default 60 s (spec B6). */
  readonly cooldownMs?: number;
}

export interface ProviderRouter {
  /** In the order of the config. */
  readonly entries: readonly RouterEntry[];
  /** By name; undefined when there is none. See `resolve`. */
  find(name: string): RouterEntry | undefined;
  /**
   * Exact key, key in another case, key before the `/` of the name, end of a key or of a model id. Throws GH1003, with the keys
   * there are, when none fits.
   */
  resolve(name: string): RouterEntry;
  /** Takes a model out of the fallbacks for a while. By key: two keys may share a model but not an account. */
  coolDown(key: string): void;
  isCooling(key: string): boolean;
  /** Who may stand in for `key`: not cooling, with at least its output limit, best catalog score (lowest) first. */
  fallbacksFor(key: string): readonly RouterEntry[];
}

/** Spec B1: an unknown output limit. */
const UNKNOWN_MAX_OUTPUT = 8_192;

export function createProviderRouter(entries: readonly RouterEntry[], options: ProviderRouterOptions): ProviderRouter {
  const { clock, cooldownMs = 60_000 } = options;
  const coolUntil = new Map<string, number>();
  const isCooling = (key: string): boolean => clock.monotonic() < (coolUntil.get(key) ?? Number.NEGATIVE_INFINITY);
  const router: ProviderRouter = {
    entries,
    find: (name) => findEntry(entries, name),
    resolve(name) {
      const found = findEntry(entries, name);
      if (found) return found;
      const keys = entries.map(({ key }) => key).join(', ');
      throw new GatehouseError('GH1003', `there is no model "${name}"`, {
        hint: keys === '' ? 'no sub_providers are configured' : `use one of: ${keys}`,
      });
    },
    coolDown: (key) => void coolUntil.set(key, clock.monotonic() + cooldownMs),
    isCooling,
    fallbacksFor(key) {
      const entry = entries.find((other) => other.key === key);
      if (!entry) return [];
      return entries
        .filter((other) => other !== entry && !isCooling(other.key) && maxOutput(other) >= maxOutput(entry))
        .toSorted((a, b) => rank(a) - rank(b));
    },
  };
  return router;
}

function findEntry(entries: readonly RouterEntry[], name: string): RouterEntry | undefined {
  const wanted = name.trim().toLowerCase();
  if (wanted === '') return undefined;
  const [prefix = ''] = wanted.split('/', 1);
  const rules: ((entry: RouterEntry) => boolean)[] = [
    ({ key }) => key === name,
    ({ key }) => key.toLowerCase() === wanted,
    ({ key }) => wanted.includes('/') && key.toLowerCase() === prefix,
    ({ key, model }) => key.toLowerCase().endsWith(wanted) || model.id.toLowerCase().endsWith(wanted),
  ];
  for (const rule of rules) {
    const found = entries.find(rule);
    if (found) return found;
  }
  return undefined;
}

function maxOutput({ model, catalog }: RouterEntry): number {
  return model.facts?.maxOutputTokens ?? catalog?.maxOutput ?? UNKNOWN_MAX_OUTPUT;
}

function rank({ catalog }: RouterEntry): number {
  return catalog?.score ?? Number.MAX_VALUE;
}
