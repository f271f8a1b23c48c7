/** Everything known of a model in one place: config, catalog, family tables, defaults, in this order. */
import type { ModelFacts, Price } from '../../core/model.ts';
import type { Provider } from '../providers/provider.ts';
import { findInCatalog } from './catalog.ts';
import data from './families.json' with { type: 'json' };
import { firstMatch, type NamePattern } from './name-pattern.ts';
import { priceOf } from './price.ts';

/** What the config says about a model; each wins over what is known here. */
export interface ModelHints {
  /** Tokens in and out together. */
  readonly contextWindow?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly vision?: boolean | undefined;
  readonly tools?: boolean | undefined;
  readonly price?: Price | undefined;
}

/** Spec B1: for a model nobody listed. */
const DEFAULT_CONTEXT_WINDOW = 128_000;
const DEFAULT_MAX_OUTPUT = 8_192;
const DEFAULT_REQUESTED_OUTPUT = 4_096;

const WINDOWS: readonly (NamePattern & { readonly tokens: number })[] = data.context_windows;
const VISION: readonly (NamePattern & { readonly sees: boolean })[] = data.vision;
const TOOLS: readonly (NamePattern & { readonly calls: boolean })[] = data.tools;

/**
 * Facts of a model for its wire, the budget and the router. `baseUrl` is where it is served when not at the provider's usual
 * address. Unknown: 128,000 tokens window, 8,192 out, sees nothing (a picture would be refused), calls tools (an agent without them
 * would be of no use), price null.
 */
export function factsOf(
  provider: Provider,
  model: string,
  hints: ModelHints = {},
  baseUrl: string | undefined = provider.baseUrl,
): { contextWindow: number } & ModelFacts {
  const listed = findInCatalog(provider.name, model);
  return {
    contextWindow:
      hints.contextWindow ??
      provider.contextWindow ??
      listed?.contextWindow ??
      firstMatch(WINDOWS, model)?.tokens ??
      DEFAULT_CONTEXT_WINDOW,
    maxOutputTokens: hints.maxOutputTokens ?? listed?.maxOutputTokens ?? DEFAULT_MAX_OUTPUT,
    vision: hints.vision ?? firstMatch(VISION, model)?.sees ?? false,
    tools: hints.tools ?? provider.callsTools?.(model) ?? firstMatch(TOOLS, model)?.calls ?? true,
    price: hints.price ?? priceOf(provider.name, model, baseUrl),
  };
}

/**
 * Output limit to send with a call (spec B1): the most a known model puts out, at most what the config allows; for an unknown one
 * what the config says, else 4,096. Never more than half the window, which input and output share.
 */
export function requestedOutputTokens(
  provider: Provider,
  model: string,
  options: { readonly configured?: number | undefined; readonly hints?: ModelHints } = {},
): number {
  const { configured, hints = {} } = options;
  const known = hints.maxOutputTokens ?? findInCatalog(provider.name, model)?.maxOutputTokens;
  const wanted = known === undefined ? (configured ?? DEFAULT_REQUESTED_OUTPUT) : Math.min(known, configured ?? known);
  return Math.min(wanted, Math.floor(factsOf(provider, model, hints).contextWindow / 2));
}
