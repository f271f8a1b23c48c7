import type { Slot } from './slot.ts';

/** A model that can be asked for by name. */
export interface RouterEntry extends Slot {
  /** Unique, as the operator wrote it. */
  readonly key: string;
  /** For people. */
  readonly description?: string;
}

export interface ProviderRouter {
  /** In the order of the config. */
  readonly entries: readonly RouterEntry[];
  /** Exact key, key in another case, key before `/`, end of a key or model id (spec B6); else undefined. */
  find(name: string): RouterEntry | undefined;
}

export function createProviderRouter(entries: readonly RouterEntry[]): ProviderRouter {
  return { entries, find: (name) => findEntry(entries, name) };
}

function findEntry(entries: readonly RouterEntry[], name: string): RouterEntry | undefined {
  const wanted = name.trim().toLowerCase();
  if (wanted === '') return undefined;
  const [prefix = ''] = wanted.split('/', 1);
  const rules: ((entry: RouterEntry) => boolean)[] = [
    ({ key }) => key === name,
    ({ key }) => key.toLowerCase() === wanted,
    ({ key }) => key.toLowerCase() === prefix,
    ({ key, model }) => key.toLowerCase().endsWith(wanted) || model.id.toLowerCase().endsWith(wanted),
  ];
  for (const rule of rules) {
    const found = entries.find(rule);
    if (found) return found;
  }
  return undefined;
}
