/** What is known of single models: dated data, typed. */

import data from './models.json' with { type: 'json' };
import { bareName } from './name-pattern.ts';

export interface CatalogModel {
  /** `provider/model`. */
  readonly id: string;
  readonly provider: string;
  readonly model: string;
  /** Other names of the same model. */
  readonly aliases: readonly string[];
  /** Tokens. */
  readonly contextWindow: number;
  /** Most tokens it puts out; absent = not known. */
  readonly maxOutputTokens?: number;
}

/** Day of the last change to the data. */
export const CATALOG_UPDATED_AT: string = data.updated_at;

let models: readonly CatalogModel[] | undefined;

/** All, in the order of the data. */
export function catalogModels(): readonly CatalogModel[] {
  models ??= data.models.map(({ model: id, aliases = [], context_window: contextWindow, max_output: maxOutputTokens }) => {
    const slash = id.indexOf('/');
    const names = { id, provider: id.slice(0, slash), model: id.slice(slash + 1), aliases };
    return { ...names, contextWindow, ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }) };
  });
  return models;
}

/**
 * By `provider/model`, then by the name alone whoever serves it (spec B1): a reseller's `anthropic/claude-…` finds its maker's
 * entry. Undefined = not listed.
 */
export function findInCatalog(provider: string, model: string): CatalogModel | undefined {
  const name = model.toLowerCase();
  return byName(`${provider.toLowerCase()}/${name}`) ?? byName(name) ?? byName(bareName(name));
}

let index: ReadonlyMap<string, CatalogModel> | undefined;

function byName(name: string): CatalogModel | undefined {
  index ??= buildIndex();
  return index.get(name);
}

/** The first entry of a name keeps it. */
function buildIndex(): ReadonlyMap<string, CatalogModel> {
  const names = new Map<string, CatalogModel>();
  for (const entry of catalogModels()) {
    for (const model of [entry.model, ...entry.aliases]) {
      for (const name of [`${entry.provider}/${model}`, model, bareName(model)]) {
        const key = name.toLowerCase();
        if (!names.has(key)) names.set(key, entry);
      }
    }
  }
  return names;
}
