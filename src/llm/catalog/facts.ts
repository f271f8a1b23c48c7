/** Everything known of a model in one place: config, catalog, models like it, defaults, in this order. */
import type { ModelFacts, Price } from '../../core/model.ts';
import type { Provider } from '../providers/provider.ts';
import { findRow, similarRows } from './catalog.ts';
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

/** Spec B1: for a model that is not listed. */
const DEFAULT_CONTEXT_WINDOW = 128_000;
const DEFAULT_MAX_OUTPUT = 8_192;

/** Names of models that are not listed, mostly of servers that people run themselves. */
const SEES = /vision|-vl|llava|moondream|minicpm-v|pixtral|gemma-?3(?!:1b|:270m|-1b|n)|llama-?4|glm-4\.\dv/;
const NO_TOOLS = /embed|whisper|tts|rerank|moderation|dall-e|transcribe|llava|moondream|gemma-?2|o1-mini|o1-preview/;

/**
 * Facts of a model for its wire, the budget and the router. `baseUrl` is where it is served, when not at the
 * provider's usual address. A model that is not listed gets the smallest window of models like it, else
 * 128,000 tokens, and 8,192 of output. It calls tools, because an agent without them would be of no use, and
 * sees only where its name says so, because a picture would be refused.
 */
export function factsOf(
  provider: Provider,
  model: string,
  hints: ModelHints = {},
  baseUrl: string | undefined = provider.baseUrl,
): { contextWindow: number } & ModelFacts {
  const row = findRow(provider.name, model);
  const name = model.toLowerCase();
  return {
    contextWindow: hints.contextWindow ?? provider.contextWindow ?? row?.window ?? likelyWindow(provider.name, model),
    maxOutputTokens: hints.maxOutputTokens ?? row?.output ?? DEFAULT_MAX_OUTPUT,
    vision: hints.vision ?? (row?.window === undefined ? SEES.test(name) : row.vision === true),
    tools: hints.tools ?? provider.callsTools?.(model) ?? row?.tools ?? (row?.window !== undefined || !NO_TOOLS.test(name)),
    price: hints.price ?? priceOf(provider.name, model, baseUrl),
    ...(row?.thinking ? { thinking: row.thinking } : {}),
  };
}

function likelyWindow(provider: string, model: string): number {
  const windows = similarRows(provider, model, ({ window }) => window !== undefined).map(({ window }) => window ?? 0);
  return windows.length === 0 ? DEFAULT_CONTEXT_WINDOW : Math.min(...windows);
}
