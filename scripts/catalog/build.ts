/** Rows, lifecycle, second source and overrides in; the catalog file out. Reads and writes nothing. */
import type { Price } from '../../src/core/model.ts';
import type { CatalogFile, CatalogRow } from '../../src/llm/catalog/catalog.ts';
import type { Ends } from './lifecycle.ts';
import type { Rows } from './primary-rows.ts';
import type { SecondPrices } from './second-source.ts';

/** Kept by hand in `src/llm/catalog/overrides.json`. */
export interface Overrides {
  readonly rows: readonly (Evidence & {
    readonly provider: string;
    readonly models: readonly string[];
    /** Fields of the row; null takes one away. */
    readonly set: { readonly [Field in keyof CatalogRow]?: CatalogRow[Field] | null };
    /** Last day on which this was known to be true. */
    readonly validUntil?: string;
  })[];
  /** Prices in which the second source is known to differ, and why the first one is kept. */
  readonly differences: readonly (Evidence & {
    readonly provider: string;
    readonly models: readonly string[];
    readonly reason: string;
  })[];
}

interface Evidence {
  /** Address of the page, or package and file. */
  readonly source: string;
  /** Day on which it was read. */
  readonly date: string;
  readonly quote: string;
}

export interface Sources {
  readonly asOf: string;
  readonly rows: Rows;
  readonly openAiEnds: Ends;
  readonly anthropic: { readonly ends: Ends; readonly known: ReadonlySet<string> };
  readonly second: SecondPrices;
  readonly overrides: Overrides;
}

/**
 * These sell other vendors' models through many hosts: a price of theirs is kept only where another source
 * states the same. Else the dearest vendor's price for that model is the upper bound.
 */
const RESELLERS: readonly string[] = ['openrouter', 'nvidia'];

/** Throws with the whole list when the sources contradict each other in a way that no override names. */
export function buildModels(sources: Sources): CatalogFile['models'] {
  const { overrides, second, anthropic } = sources;
  const rows: Rows = structuredClone(sources.rows);
  for (const provider of RESELLERS) boundPrices(rows, provider, second);
  const faults = [...differences(rows, sources), ...unknownClaudes(rows, anthropic.known)];
  for (const provider of ['openai', 'azure']) join(rows, provider, sources.openAiEnds, provider === 'openai');
  join(rows, 'anthropic', anthropic.ends, true);
  faults.push(...override(rows, overrides), ...unannounced(rows, second));
  if (faults.length > 0) throw new Error(`name these in overrides.json, with a source:\n${faults.join('\n')}`);
  return sorted(rows);
}

function boundPrices(rows: Rows, provider: string, second: SecondPrices): void {
  const vendors = Object.entries(rows).filter(([name]) => !RESELLERS.includes(name) && name !== 'zhipu');
  const stated = vendors.flatMap(([, models]) => Object.entries(models));
  const models = modelsOf(rows, provider);
  for (const [id, { price, ...rest }] of Object.entries(models)) {
    const vendor = stated.flatMap(([model, { price: own }]) => (own && bare(model) === bare(id) ? [own] : []));
    const others = [second(provider, id), ...vendor];
    if (price && others.some((other) => other?.in === price.in && other.out === price.out)) continue;
    const [dearest] = vendor.sort((a, b) => b.in + b.out - a.in - a.out);
    models[id] = { ...rest, ...(dearest ? { price: { ...dearest, guess: true } } : {}) };
  }
}

function modelsOf(rows: Rows, provider: string): Rows[string] {
  rows[provider] ??= {};
  return rows[provider];
}

function bare(id: string): string {
  return (id.split('/').at(-1) ?? '').replaceAll('.', '-').toLowerCase();
}

function differences(rows: Rows, { second, overrides }: Sources): string[] {
  const named = new Set(overrides.differences.flatMap(({ provider, models }) => models.map((model) => `${provider}/${model}`)));
  const met = new Set<string>();
  const unnamed = each(rows).flatMap(({ provider, id, row: { price } }) => {
    const other = second(provider, id);
    if (!price || !other || RESELLERS.includes(provider)) return [];
    // An upper bound may be above what the other source states.
    const agrees = price.guess
      ? price.in >= other.in && price.out >= other.out
      : price.in === other.in && price.out === other.out;
    if (agrees) return [];
    met.add(`${provider}/${id}`);
    return named.has(`${provider}/${id}`) ? [] : [`${provider}/${id}: ${text(price)} or, by the second source, ${text(other)}`];
  });
  return [...unnamed, ...[...named].filter((name) => !met.has(name)).map((name) => `${name}: the sources agree by now`)];
}

/** A price that the second source knows for a later day must be in the row. */
function unannounced(rows: Rows, second: SecondPrices): string[] {
  return each(rows).flatMap(({ provider, id, row }) => {
    const later = second(provider, id)?.later;
    if (!row.price || !later || row.later?.from === later.from || RESELLERS.includes(provider)) return [];
    return [`${provider}/${id}: from ${later.from} on ${text(later)}`];
  });
}

function unknownClaudes(rows: Rows, known: ReadonlySet<string>): string[] {
  return Object.keys(rows['anthropic'] ?? {})
    .filter((id) => !known.has(id))
    .map((id) => `anthropic/${id}: the vendor's SDK does not know it`);
}

/** `all`: also ids that the first source does not list (any more). */
function join(rows: Rows, provider: string, ends: Ends, all: boolean): void {
  const models = modelsOf(rows, provider);
  for (const [id, day] of Object.entries(ends)) if (all || models[id]) models[id] = { ...models[id], ends: day };
}

function override(rows: Rows, overrides: Overrides): string[] {
  const faults: string[] = [];
  for (const { provider, models, set, validUntil, source, date, quote } of overrides.rows) {
    if (!source || !quote || !/^\d{4}-\d\d-\d\d$/.test(date))
      faults.push(`${provider}/${models[0]}: an override without its evidence`);
    const own = modelsOf(rows, provider);
    for (const id of models) {
      const merged = Object.entries({ ...own[id], ...set }).filter(([, value]) => value !== null);
      own[id] = { ...Object.fromEntries(merged), ...(set.price && validUntil ? { priceUntil: validUntil } : {}) };
    }
  }
  return faults;
}

export function each(models: CatalogFile['models']): { provider: string; id: string; row: CatalogRow }[] {
  return Object.entries(models).flatMap(([provider, rows]) => Object.entries(rows).map(([id, row]) => ({ provider, id, row })));
}

function sorted(rows: Rows): Rows {
  const byName = <T>(all: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
  return Object.fromEntries(Object.entries(rows).map(([provider, models]) => [provider, byName(models)]));
}

function text(price: Pick<Price, 'in' | 'out'>): string {
  return `${price.in}/${price.out}`;
}

/** Overrides that were true until a day. */
export function limitedOverrides({ rows }: Overrides): { readonly name: string; readonly validUntil: string }[] {
  return rows.flatMap(({ provider, models, validUntil }) =>
    validUntil === undefined ? [] : models.map((model) => ({ name: `${provider}/${model}`, validUntil })),
  );
}
