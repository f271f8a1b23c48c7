/** The models a config asks for, as `models list` and `models test` show them. Needs no network. */
import type { LoadedConfig } from '../../../config/load.ts';
import { isGatehouseError } from '../../core/errors.ts';
import type { Price } from '../../core/model.ts';
import { printable } from '../../lib/printable.ts';
import { findKeyWithoutConfig, namesModel } from '../../llm/detect.ts';
import { type FoundKey, type KeySources, resolveKey } from '../../llm/providers/key.ts';
import { type ModelConfig, type ResolvedProvider, resolveProvider } from '../../llm/providers/resolve.ts';
import { type CommandContext, dataDirOf, envOf } from '../context.ts';
import type { Failure } from '../output.ts';

export interface ModelEntry {
  /** `main`, `fallback-1`, or a name of the section `models`. */
  readonly name: string;
  readonly description?: string;
  /** Absent when the entry names no model that can be. */
  readonly target?: ResolvedProvider;
  /** Absent when none is needed, or none was found: then `problem` says so. */
  readonly key?: FoundKey;
  readonly problem?: Failure;
}

/**
 * Main, fallback and named models in the order of the config. No main one: neither config nor keys name a
 * model.
 */
export async function modelEntries({ config }: LoadedConfig, context: CommandContext): Promise<ModelEntry[]> {
  const { storedKey } = context.deps;
  // A file of logins that cannot be trusted is told with each entry that needs a key.
  const env = await envOf(context).catch(() => context.deps.env);
  const sources: KeySources = { env, storedKey: (provider) => storedKey(dataDirOf(context), provider) };
  const main = await mainEntry(config, sources);
  const further: [string, ModelConfig][] = [
    ...config.fallback_models.map((entry, index): [string, ModelConfig] => [`fallback-${index + 1}`, entry]),
  ];
  const named = Object.entries(config.models).map(async ([name, { description, ...entry }]): Promise<ModelEntry> => {
    return { ...(await toEntry(name, entry, sources)), ...(description === undefined ? {} : { description }) };
  });
  const fallbacks = further.map(([name, entry]) => toEntry(name, entry, sources));
  return [...main, ...(await Promise.all([...fallbacks, ...named]))];
}

async function mainEntry(config: ModelConfig, sources: KeySources): Promise<ModelEntry[]> {
  if (namesModel(config)) return [await toEntry('main', config, sources)];
  try {
    const found = await findKeyWithoutConfig({ config, ...sources });
    return found?.target ? [{ name: 'main', target: found.target, ...(found.key ? { key: found.key } : {}) }] : [];
  } catch (error) {
    return [{ name: 'main', problem: toProblem(error) }];
  }
}

async function toEntry(name: string, config: ModelConfig, sources: KeySources): Promise<ModelEntry> {
  let target: ResolvedProvider | undefined;
  try {
    target = resolveProvider(config, sources.env);
    const key = await resolveKey(target, sources);
    return { name, target, ...(key ? { key } : {}) };
  } catch (error) {
    return { name, ...(target ? { target } : {}), problem: toProblem(error) };
  }
}

/** One broken entry must not hide the others; what is no problem of the config goes on to the caller. */
function toProblem(error: unknown): Failure {
  if (!isGatehouseError(error)) throw error;
  return { code: error.code, message: error.message, hint: error.hint };
}

/** `provider/model` on one line. */
export function entryId({ target }: ModelEntry): string {
  return target ? printable(`${target.provider.name}/${target.model}`) : '?';
}

export const PRICE_UNIT = 'prices in USD per million tokens in / out; "at most" is a guess';

/** `3 / 15`, or `at most 3 / 15` where no source states the price. */
export function priceText(price: Price | null): string {
  if (price === null) return 'unknown';
  if (price.in === 0 && price.out === 0) return 'free';
  return `${price.guess ? 'at most ' : ''}${price.in} / ${price.out}`;
}

/** `128k`, `1.05M` tokens. */
export function tokensText(tokens: number): string {
  return tokens < 1_000_000 ? `${Math.round(tokens / 100) / 10}k` : `${Math.round(tokens / 10_000) / 100}M`;
}
