/**
 * What is wrong with the catalog on a given day: for `catalog:check`, `config check`, the start and
 * `gatehouse status`.
 */
import { nearest } from '../lib/edit-distance.ts';
import { CATALOG_AS_OF, catalogRows, DEFAULT_MODELS, findRow } from '../llm/catalog/catalog.ts';
import type { BudgetLimits } from '../llm/money/budget.ts';
import type { ResolvedProvider } from '../llm/providers/resolve.ts';

const DAY_MS = 86_400_000;
/** A model that ends sooner is told of; a default of that kind must not be released. */
const END_NEAR_DAYS = 30;
/** Prices and models change every week: an older file is not to be relied on. */
const OLD_DAYS = 60;

/**
 * What keeps a release back, a sentence each: an old file, a default that ends, a price that was stated only
 * until a day that is over.
 */
export function catalogProblems(
  now: number,
  priceUntil: readonly PriceUntil[],
  about = { asOf: CATALOG_AS_OF, defaults: DEFAULT_MODELS },
): string[] {
  const defaults = Object.entries(about.defaults).flatMap(([provider, model]) => ending(provider, model, now));
  const over = priceUntil.filter(({ validUntil }) => Date.parse(validUntil) + DAY_MS <= now);
  const stale = over.map(({ name, validUntil }) => `the override of ${name} was valid until ${validUntil}`);
  return [...age(now, about.asOf), ...defaults, ...stale];
}

export interface PriceUntil {
  readonly name: string;
  /** `YYYY-MM-DD`, that day included. */
  readonly validUntil: string;
}

/** What the operator should know of the models in use, a sentence each. */
export function modelWarnings(
  targets: readonly ResolvedProvider[],
  now: number,
  limits: Allowed = {},
  asOf = CATALOG_AS_OF,
): string[] {
  const about = new Set(targets.flatMap((target) => warningsOf(target, now, limits)));
  return targets.length === 0 ? [] : [...about, ...age(now, asOf)];
}

type Allowed = Pick<BudgetLimits, 'allowUnknownPrice'>;

/** Those about this one model, without the age of the catalog. */
export function warningsOf(target: ResolvedProvider, now: number, limits: Allowed = {}): string[] {
  const { provider, model, facts } = target;
  const id = `${provider.name}/${model}`;
  const { priceUntil } = findRow(provider.name, model) ?? {};
  const isOver = priceUntil !== undefined && Date.parse(priceUntil) + DAY_MS <= now;
  return [
    ...ending(provider.name, model, now),
    ...unlisted(target),
    ...(facts.price === null ? [priceUnknown(id, limits)] : []),
    ...(isOver ? [`the price of ${id} was stated until ${priceUntil}; set model_hints.price, or update`] : []),
  ];
}

function priceUnknown(id: string, { allowUnknownPrice }: Allowed): string {
  const so = allowUnknownPrice ? 'no limit counts its calls' : 'every call will be refused under a limit';
  return `the price of ${id} is not known: ${so}; set model_hints.price in the config`;
}

/**
 * A model that the catalog does not list for a provider whose models it lists: misspelt, another provider's,
 * or newer than the catalog.
 */
function unlisted({ provider, model, baseUrl, hints }: ResolvedProvider): string[] {
  const names = catalogRows(provider.name).map(([name]) => name);
  const isOwn = provider.baseUrl !== undefined && new URL(provider.baseUrl).origin === new URL(baseUrl).origin;
  // The clouds name a model as the account or its region does.
  if (!isOwn || provider.addressEnv !== undefined || names.length === 0) return [];
  if (findRow(provider.name, model) !== undefined || hints.price !== undefined) return [];
  const meant = nearest(model, names);
  const what =
    meant === undefined ? 'its window and price are guesses; see `gatehouse models catalog`' : `did you mean ${meant}?`;
  return [`${provider.name}/${model} is not in the catalog: ${what}`];
}

function ending(provider: string, model: string, now: number): string[] {
  const { ends, replacement } = findRow(provider, model) ?? {};
  if (ends === undefined || Date.parse(ends) - now > END_NEAR_DAYS * DAY_MS) return [];
  const instead = replacement === undefined ? '' : `; the provider names ${replacement} in its place`;
  return [`${provider}/${model} ${Date.parse(ends) <= now ? 'ended' : 'ends'} on ${ends}${instead}`];
}

/** That the catalog is old, when it is. */
export function age(now: number, asOf = CATALOG_AS_OF): string[] {
  const days = Math.floor((now - Date.parse(asOf)) / DAY_MS);
  return days > OLD_DAYS ? [`the model catalog is ${days} days old (${asOf}): prices may have changed; update gatehouse`] : [];
}
