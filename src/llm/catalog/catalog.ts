/** The rows of `models.json` (`npm run generate:catalog`): what is known of a model, by provider and id. */

import type { Price } from '../../core/model.ts';
import defaults from './defaults.json' with { type: 'json' };
import data from './models.json' with { type: 'json' };

/** Every field but `price.guess` is what a source states; an absent one is not known. */
export interface CatalogRow {
  /** Tokens in and out together; absent only for models that ended before they were listed. */
  readonly window?: number;
  /** Most tokens it puts out. */
  readonly output?: number;
  readonly vision?: true;
  readonly tools?: false;
  /** As `ModelFacts.thinking`. */
  readonly thinking?: readonly string[];
  readonly price?: Price;
  /** A price that is announced for a later day. */
  readonly later?: Price['later'];
  /** Last day for which the price was stated. */
  readonly priceUntil?: string;
  /** Day on which the provider takes or took it away. */
  readonly ends?: string;
  /** What the provider names in its place. */
  readonly replacement?: string;
  /** Shortest prompt in tokens that is cached. */
  readonly cacheMinimum?: number;
  /** USD per million tokens written to a cache for an hour. */
  readonly cacheWrite1h?: number;
}

export interface CatalogFile {
  readonly about: { readonly asOf: string; readonly source: string; readonly [key: string]: unknown };
  readonly models: Readonly<Record<string, Readonly<Record<string, CatalogRow>>>>;
}

const CATALOG = data as unknown as CatalogFile;

/** Day of the data. */
export const CATALOG_AS_OF: string = CATALOG.about.asOf;

/** Model that a provider starts with when none is named; absent = the operator must name one. */
export const DEFAULT_MODELS: Readonly<Record<string, string>> = defaults.models;

export function catalogRows(provider: string): readonly (readonly [model: string, row: CatalogRow])[] {
  return Object.entries(CATALOG.models[provider] ?? {});
}

/** By exact id, in any case. Undefined = not listed. */
export function findRow(provider: string, model: string): CatalogRow | undefined {
  const rows = CATALOG.models[provider];
  if (rows && Object.hasOwn(rows, model)) return rows[model];
  const name = model.toLowerCase();
  return catalogRows(provider).find(([id]) => id.toLowerCase() === name)?.[1];
}

/**
 * Rows of models that are likely of the same price and kind, for a model that no row states: the same name at
 * any provider, else its family at this provider, else its family at any. Without those that have ended.
 * Empty = nothing is known.
 */
export function similarRows(provider: string, model: string, has: (row: CatalogRow) => boolean): readonly CatalogRow[] {
  const everywhere = Object.values(CATALOG.models).flatMap((rows) => Object.entries(rows));
  const take = (rows: typeof everywhere, fits: (id: string) => boolean): CatalogRow[] =>
    rows.flatMap(([id, row]) => (has(row) && (row.ends ?? '9') > CATALOG_AS_OF && fits(id) ? [row] : []));
  const bare = bareName(model);
  const same = take(everywhere, (id) => bareName(id) === bare);
  if (same.length > 0) return same;
  for (const words = familyOf(model); words.length > 0; words.pop()) {
    const fits = (id: string): boolean => {
      const family = familyOf(id);
      return words.every((word, at) => family[at] === word);
    };
    const own = take([...catalogRows(provider)] as typeof everywhere, fits);
    const found = own.length > 0 ? own : take(everywhere, fits);
    if (found.length > 0) return found;
  }
  return [];
}

/** `anthropic/claude-opus-4.5:free` -> `claude-opus-4-5`. */
function bareName(model: string): string {
  return (model.split('/').at(-1) ?? '').replace(/:.*$/, '').toLowerCase().replaceAll('.', '-');
}

/** Whether an answer names the model that was asked: region, vendor, revision and date aside. */
export function isSameModel(asked: string, served: string): boolean {
  const cloudId = /^(?:[a-z-]+\.)+(?=[a-z]{3})(.*?)(?:-v\d+)?(?::\d+)?$/i;
  const plain = (id: string): string => bareName(id.replace(cloudId, '$1')).replace(/-\d{3,}(?:-\d\d){0,2}$/, '');
  return plain(served) === plain(asked);
}

/** The words before the version: `claude-opus-5-5` -> claude, opus; `qwen3.8-max` -> qwen. */
export function familyOf(model: string): string[] {
  const words = bareName(model).split(/[-_ ]/);
  const versionAt = words.findIndex((word) => /\d/.test(word));
  if (versionAt === 0) return [/^[a-z]+/.exec(words[0] ?? '')?.[0] ?? ''].filter(Boolean);
  return words
    .slice(0, versionAt === -1 ? undefined : versionAt)
    .filter((word) => !/^(?:latest|preview|chat|instruct|)$/.test(word));
}

/** `claude-opus-4-5-20251101` -> 4, 5; a date is no version. */
export function versionOf(model: string): number[] {
  const parts = /\d+(?:-\d+)*/.exec(bareName(model))?.[0].split('-') ?? [];
  return parts.map(Number).filter((part) => part < 1_000);
}
