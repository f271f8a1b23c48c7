/** What models cost: the dated table of spec B1, and what makes a server free. */
import type { Price } from '../../core/model.ts';
import { findProvider } from '../providers/index.ts';
import { firstMatch, type NamePattern } from './name-pattern.ts';
import data from './prices.json' with { type: 'json' };

const PRICES: readonly (NamePattern & { readonly in: number; readonly out: number })[] = data.prices;

/** Day of the last change to the table. */
export const PRICES_UPDATED_AT: string = data.updated_at;

const FREE: Price = { in: 0, out: 0 };

/**
 * Price of a model; null = unknown, never taken for free. 0 only for a server that runs models on this machine: by default the
 * provider's usual address decides. The table is of families, so a price is an estimate; `model_hints.price` corrects it.
 */
export function priceOf(provider: string, model: string, baseUrl = findProvider(provider)?.baseUrl): Price | null {
  if (isLocal(provider, model, baseUrl)) return FREE;
  const row = firstMatch(PRICES, model);
  return row ? { in: row.in, out: row.out } : null;
}

function isLocal(provider: string, model: string, baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && findProvider(provider)?.runsLocally?.(model) === true && isLoopback(baseUrl);
}

/** `localhost` and its subdomains (RFC 6761 6.3), 127.0.0.0/8, ::1. */
export function isLoopback(address: string): boolean {
  const host = URL.parse(address)?.hostname.replace(/\.$/, '') ?? '';
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i.test(host);
}
