/** What models cost: the exact model's row, else an upper bound of its kin; some servers are free. */
import type { Price } from '../../core/model.ts';
import { systemClock } from '../../lib/clock.ts';
import { findProvider } from '../providers/index.ts';
import { findRow, similarRows } from './catalog.ts';

const FREE: Price = { in: 0, out: 0 };

/**
 * Price of a model; null = unknown, never taken for free. With `guess` it is an upper bound: of the dearest
 * model of that name or family. 0 only for a server that runs models on this machine: by default the
 * provider's usual address decides. `model_hints.price` corrects all of it.
 */
export function priceOf(
  provider: string,
  model: string,
  baseUrl = findProvider(provider)?.baseUrl,
  now = systemClock.now(),
): Price | null {
  if (isLocal(provider, model, baseUrl)) return FREE;
  const key = `${provider}/${model}`;
  const { price, later } = (bounds.has(key) ? undefined : findRow(provider, model)) ?? {};
  return price ? priceAt(later ? { ...price, later } : price, now) : bound(key, provider, model);
}

/** What a price has become by `now`: a daemon may run past the day from which another one is announced. */
export function priceAt(price: Price | null, now: number): Price | null {
  return price?.later && Date.parse(price.later.from) <= now ? price.later.price : price;
}

/**
 * Of models without a stated price that answered lately: a look through the whole catalog takes a
 * millisecond.
 */
const bounds = new Map<string, Price | null>();
/** A server may name another model each time. */
const MOST_BOUNDS = 256;

function bound(key: string, provider: string, model: string): Price | null {
  const known = bounds.get(key);
  if (known !== undefined) return known;
  if (bounds.size >= MOST_BOUNDS) bounds.clear();
  const price = boundOf(provider, model);
  bounds.set(key, price);
  return price;
}

/** Each rate is the highest of any model that may be this one. */
function boundOf(provider: string, model: string): Price | null {
  const rows = similarRows(provider, model, ({ price }) => price !== undefined);
  const rates = rows.flatMap(({ price, later }) => [price, ...(price?.tiers ?? []), later?.price].filter((rate) => !!rate));
  if (rates.length === 0) return null;
  const most = (rate: 'in' | 'out'): number => Math.max(...rates.map((each) => each[rate]));
  const cached = Math.max(...rates.map((rate) => rate.cached ?? rate.in));
  const cacheWrite = Math.max(most('in'), ...rates.map((rate) => rate.cacheWrite ?? 0));
  return { in: most('in'), out: most('out'), cached, cacheWrite, guess: true };
}

function isLocal(provider: string, model: string, baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && findProvider(provider)?.runsLocally?.(model) === true && isLoopback(baseUrl);
}

/** `localhost` and its subdomains (RFC 6761 6.3), 127.0.0.0/8, ::1, and the addresses to listen on. */
export function isLoopback(address: string): boolean {
  const host = URL.parse(address)?.hostname.replace(/\.$/, '') ?? '';
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])$/i.test(host);
}
