import type { Baseline, CatalogQuality, SlotState } from './slot.ts';

/** One model of `model_catalog.json`, as it is on disk (spec B5). */
export interface CatalogEntry {
  /** `provider/model`. */
  readonly provider: string;
  readonly type?: 'strong' | 'fast';
  readonly stability?: number;
  readonly tool_avg_ms?: number;
  readonly p95_ms?: number;
  readonly score?: number;
  readonly cost_in?: number;
  readonly cost_out?: number;
  readonly ds_output?: number;
  readonly context_window?: number;
  readonly max_output?: number;
}

/** `model_catalog.json`. */
export interface ModelCatalogFile {
  /** ISO 8601. */
  readonly updated_at: string;
  readonly models: readonly CatalogEntry[];
}

/** Reads the parsed JSON of `model_catalog.json`, by `provider/model`. A field or entry that makes no sense is unknown, not an error. */
export function parseModelCatalog(json: unknown): ReadonlyMap<string, CatalogQuality> {
  const found = new Map<string, CatalogQuality>();
  for (const entry of entriesOf(json)) {
    const id = entry['provider'];
    if (typeof id !== 'string' || id === '') continue;
    const type = entry['type'];
    found.set(id, {
      ...(type === 'strong' || type === 'fast' ? { type } : {}),
      ...numbers(entry, {
        stability: 'stability',
        toolAvgMs: 'tool_avg_ms',
        p95Ms: 'p95_ms',
        score: 'score',
        costIn: 'cost_in',
        costOut: 'cost_out',
        dsOutput: 'ds_output',
        contextWindow: 'context_window',
        maxOutput: 'max_output',
      }),
    });
  }
  return found;
}

/** Reads the parsed JSON of `provider_baseline.json`, by `provider/model`. Entries without all three figures are left out. */
export function parseProviderBaseline(json: unknown): ReadonlyMap<string, Baseline> {
  const found = new Map<string, Baseline>();
  for (const [id, { stability, toolAvgMs, p95Ms }] of parseModelCatalog(json)) {
    if (stability === undefined || toolAvgMs === undefined || p95Ms === undefined) continue;
    found.set(id, { stability, averageMs: toolAvgMs, p95Ms });
  }
  return found;
}

/** What is now known of the models, for the next start: what was measured takes the place of the catalog over ten calls. */
export function exportCatalog(slots: readonly SlotState[], scores: readonly number[], now: number): ModelCatalogFile {
  return { updated_at: new Date(now).toISOString(), models: slots.map((slot, i) => entryOf(slot, scores[i])) };
}

function entryOf({ model, catalog, metrics }: SlotState, score: number | undefined): CatalogEntry {
  const measured = Math.min(1, metrics.calls / 10);
  const blend = (known: number | undefined, live: number | undefined): number | undefined =>
    live === undefined || known === undefined ? (live ?? known) : known * (1 - measured) + live * measured;
  const price = model.facts?.price;
  return defined({
    provider: model.id,
    type: catalog.type,
    stability: blend(catalog.stability, metrics.calls === 0 ? undefined : 1 - metrics.errorRate),
    tool_avg_ms: blend(catalog.toolAvgMs, metrics.latencyMs),
    p95_ms: blend(catalog.p95Ms, metrics.p95Ms),
    score,
    cost_in: price?.in ?? catalog.costIn,
    cost_out: price?.out ?? catalog.costOut,
    ds_output: catalog.dsOutput,
    context_window: model.contextWindow,
    max_output: model.facts?.maxOutputTokens ?? catalog.maxOutput,
  });
}

type Optional<T> = { readonly [K in keyof T]: T[K] | undefined };

/** JSON has no undefined: what is unknown is left out. */
function defined(entry: Optional<CatalogEntry> & { readonly provider: string }): CatalogEntry {
  const known = Object.entries(entry).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(known), provider: entry.provider };
}

function entriesOf(json: unknown): Readonly<Record<string, unknown>>[] {
  const models = isRecord(json) ? json['models'] : undefined;
  return Array.isArray(models) ? models.filter(isRecord) : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The named fields that hold a number of the right kind: none here can be negative, and a share is at most 1. */
function numbers<K extends string>(entry: Readonly<Record<string, unknown>>, names: Record<K, string>): { [P in K]?: number } {
  const found: { [P in K]?: number } = {};
  for (const key in names) {
    const value = entry[names[key]];
    if (typeof value === 'number' && value >= 0 && Number.isFinite(value))
      found[key] = key === 'stability' ? Math.min(1, value) : value;
  }
  return found;
}
