/** Prices by the second source, by exact id only. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * USD per million tokens: the dearest that the source names for the day, which is the peak where the hour
 * matters.
 */
export interface SecondPrice {
  readonly in: number;
  readonly out: number;
  /** A price that begins on a later day. */
  readonly later?: { readonly from: string; readonly in: number; readonly out: number };
}

export type SecondPrices = (provider: string, model: string) => SecondPrice | undefined;

const NAMES: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'google',
  openrouter: 'openrouter',
  deepseek: 'deepseek',
  groq: 'groq',
  moonshot: 'moonshotai',
  minimax: 'minimax',
  zhipu: 'zhipuai',
  xai: 'x-ai',
  mistral: 'mistral',
  together: 'together',
  fireworks: 'fireworks',
  cerebras: 'cerebras',
  azure: 'azure',
  bedrock: 'aws',
};

type Amount = number | { readonly base: number } | undefined;
type Amounts = Readonly<Record<string, Amount>>;
interface Conditional {
  readonly constraint?: { readonly type: string; readonly start_date?: string };
  readonly prices: Amounts;
}
interface SecondModel {
  readonly id: string;
  readonly match: Match;
  readonly prices: Amounts | readonly Conditional[];
}
type Match = { readonly equals?: string; readonly or?: readonly Match[] };

export async function readSecondSource(folder: string, day: string): Promise<SecondPrices> {
  const { findProvider } = (await import(pathToFileURL(join(folder, 'dist/index.js')).href)) as {
    findProvider: (options: { providerId: string }) => { readonly models: readonly SecondModel[] } | undefined;
  };
  return (provider, model) => {
    const models = NAMES[provider] === undefined ? undefined : findProvider({ providerId: NAMES[provider] })?.models;
    const found = models?.find(({ id }) => id === model) ?? models?.find(({ match }) => equals(match, model));
    return found && priceOn(found.prices, day);
  };
}

function equals(match: Match, model: string): boolean {
  return match.equals === model || (match.or?.some((part) => equals(part, model)) ?? false);
}

export function priceOn(prices: Amounts | readonly Conditional[], day: string): SecondPrice | undefined {
  const list = Array.isArray(prices) ? (prices as readonly Conditional[]) : [{ prices: prices as Amounts }];
  const begun = list.filter(({ constraint }) => (constraint?.start_date ?? '') <= day);
  const start = begun.reduce((latest, { constraint }) => maxText(latest, constraint?.start_date ?? ''), '');
  // What began last holds; hours of the day go with whatever holds.
  const valid = begun.filter(({ constraint }) => constraint?.type === 'time_of_date' || (constraint?.start_date ?? '') === start);
  const rates = valid.map((entry) => ({ in: base(entry.prices['input_mtok']), out: base(entry.prices['output_mtok']) }));
  const dearest = { in: Math.max(...rates.map((rate) => rate.in)), out: Math.max(...rates.map((rate) => rate.out)) };
  const next = list.find(({ constraint }) => (constraint?.start_date ?? '') > day);
  const from = next?.constraint?.start_date;
  const later = next && from ? { from, in: base(next.prices['input_mtok']), out: base(next.prices['output_mtok']) } : undefined;
  return dearest.in > 0 && dearest.out > 0 ? { ...dearest, ...(later ? { later } : {}) } : undefined;
}

function maxText(a: string, b: string): string {
  return a > b ? a : b;
}

function base(amount: Amount): number {
  return typeof amount === 'object' ? amount.base : (amount ?? 0);
}
