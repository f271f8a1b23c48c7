/** Reads the rows of the primary source. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PriceRates } from '../../src/core/model.ts';
import type { CatalogRow } from '../../src/llm/catalog/catalog.ts';

const SCHEMA_VERSION = 6;

/** Our provider -> file of the source. */
const FILES: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'google',
  openrouter: 'openrouter',
  deepseek: 'deepseek',
  groq: 'groq',
  moonshot: 'moonshotai',
  dashscope: 'qwen-token-plan',
  minimax: 'minimax',
  // The same models at the maker's Chinese address, whose own price list the source does not have.
  zhipu: 'zai',
  zai: 'zai',
  nvidia: 'nvidia',
  xai: 'xai',
  mistral: 'mistral',
  together: 'together',
  fireworks: 'fireworks',
  cerebras: 'cerebras',
  azure: 'azure',
  bedrock: 'amazon-bedrock',
  vertex: 'google-vertex',
};

/** Which models of a file are taken, where it is not all of them. */
const TAKEN: Readonly<Record<string, (id: string) => boolean>> = {
  // A batch is no chat; the plan also sells other makers' models, which the pay-as-you-go service does not
  // have under these names.
  openrouter: (id) => !/:batch$/.test(id),
  dashscope: (id) => id.startsWith('qwen'),
};

/**
 * Prices of these are not the provider's own list, and by this factor an upper bound of it: Azure asks up to
 * 20 % more for a deployment that stays in a data zone (pypi.org, azure-genai-prices 0.2.0).
 */
const BOUNDS: Readonly<Record<string, number>> = { zhipu: 1, azure: 1.2 };

export type Rows = Record<string, Record<string, CatalogRow>>;

interface SourceRow {
  readonly type: string;
  readonly id: string;
  readonly reasoning?: boolean;
  readonly input?: readonly string[];
  readonly contextWindow: number;
  readonly maxTokens?: number;
  readonly thinkingLevelMap?: Readonly<Record<string, string | null>>;
  readonly cost: SourceRates & { readonly tiers?: readonly (SourceRates & { readonly inputTokensAbove: number })[] };
}

interface SourceRates {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/**
 * Throws when the source is of another shape than this script knows, or a file is not the one its manifest
 * lists.
 */
export function readPrimary(folder: string): { readonly asOf: string; readonly rows: Rows } {
  const data = join(folder, 'dist/providers/data');
  const manifest = JSON.parse(readFileSync(join(data, '.manifest.json'), 'utf8')) as {
    schemaVersion: number;
    generatedAt: string;
    files: Record<string, string>;
  };
  if (manifest.schemaVersion !== SCHEMA_VERSION) throw new Error(`the source has schema version ${manifest.schemaVersion}`);
  const rows: Rows = {};
  for (const [provider, name] of Object.entries(FILES)) {
    const bytes = readFileSync(join(data, `${name}.json`));
    const sum = createHash('sha256').update(bytes).digest('hex');
    if (sum !== manifest.files[`${name}.json`]) throw new Error(`${name}.json is not the file that the manifest lists`);
    rows[provider] = toRows(provider, JSON.parse(bytes.toString()) as Record<string, Record<string, SourceRow>>);
  }
  return { asOf: manifest.generatedAt.slice(0, 10), rows };
}

export function toRows(provider: string, file: Readonly<Record<string, Readonly<Record<string, SourceRow>>>>): Rows[string] {
  const rows: Rows[string] = {};
  for (const source of Object.values(file).flatMap((wire) => Object.values(wire))) {
    if (source.type !== 'chat' || !(TAKEN[provider]?.(source.id) ?? true)) continue;
    const factor = BOUNDS[provider];
    const price = toPrice(source.cost, factor);
    rows[source.id] = {
      window: source.contextWindow,
      ...(source.maxTokens ? { output: Math.min(source.maxTokens, source.contextWindow) } : {}),
      ...(source.input?.includes('image') ? { vision: true } : {}),
      ...thinking(source),
      ...(price ? { price: factor === undefined ? price : { ...price, guess: true } } : {}),
    };
  }
  return rows;
}

/** A price of 0 means that the source does not know it. */
function toPrice(cost: SourceRow['cost'], factor = 1): CatalogRow['price'] {
  if (!(cost.input > 0 && cost.output > 0)) return undefined;
  const tiers = cost.tiers?.map((tier) => ({ aboveTokensIn: tier.inputTokensAbove, ...toRates(tier, factor) }));
  return { ...toRates(cost, factor), ...(tiers?.length ? { tiers } : {}) };
}

function toRates({ input, output, cacheRead, cacheWrite }: SourceRates, factor: number): PriceRates {
  const usd = (rate: number): number => Number((rate * factor).toPrecision(10));
  return {
    in: usd(input),
    out: usd(output),
    ...(cacheRead > 0 ? { cached: usd(cacheRead) } : {}),
    ...(cacheWrite > 0 ? { cacheWrite: usd(cacheWrite) } : {}),
  };
}

/**
 * The source names levels of its own and maps them to the provider's words: null = the model lacks it, absent
 * = the word is the same. Without a map the model thinks, and has no levels that are known; but older Claude
 * models think only when they are asked to.
 */
function thinking({ id, reasoning, thinkingLevelMap: map }: SourceRow): Pick<CatalogRow, 'thinking'> {
  if (!reasoning) return { thinking: [] };
  if (!map || Object.keys(map).length < 2) return id.includes('claude') ? {} : { thinking: ['on'] };
  const always = new Set(['off', 'low', 'medium', 'high']);
  const levels = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].flatMap((level) => {
    const word = map[level];
    return word ?? (word === undefined && always.has(level) ? level : []);
  });
  return { thinking: levels };
}
