import type { Model, ModelEvent, ModelFacts, ModelRequest, Price, Usage } from '../../core/model.ts';
import { estimateRequestTokens, textTokens } from '../tokens.ts';
import { IMAGE_TOKENS } from '../vision.ts';

const MILLION = 1_000_000;

/** USD of a finished call; null when the price is unknown. Cached tokens cost as input where the price names no rate for them. */
export function costOf(usage: Usage, price: Price | null): number | null {
  if (!price) return null;
  // Some servers report more cached tokens than input.
  const cached = Math.min(usage.tokensCached, usage.tokensIn);
  return ((usage.tokensIn - cached) * price.in + cached * (price.cached ?? price.in) + usage.tokensOut * price.out) / MILLION;
}

/**
 * Innermost, around a wire: fills `answer.usage.costUsd` from the price in the model's facts, null when that is unknown. A cost
 * the provider itself reported stays.
 */
export function withCost(model: Model): Model {
  if (model.demo) return model;
  return { ...model, call: (request, signal) => callWithCost(model, request, signal) };
}

async function* callWithCost(model: Model, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  for await (const event of model.call(request, signal)) {
    if (event.type !== 'done') yield event;
    else {
      const { usage } = event.answer;
      const costUsd = usage.costUsd ?? costOf(usage, model.facts?.price ?? null);
      yield { ...event, answer: { ...event.answer, usage: { ...usage, costUsd } } };
    }
  }
}

/** What a call may cost before it is made, and what a call that broke off has cost so far. */
export interface CallEstimate {
  readonly tokensIn: number;
  /** Input and every token the answer may have; null = unknown price. */
  readonly worstUsd: number | null;
  /** Input and this much of the answer. */
  partly(streamed: string): Usage & { readonly costUsd: number | null };
  /** The most output tokens for which the worst case stays within `usd`; 0 when not even the input does, Infinity when it is free. */
  outputFor(usd: number): number;
}

/** Facts absent = nothing is known, not even the price. */
export function estimateCall(request: ModelRequest, facts: ModelFacts | undefined): CallEstimate {
  const price = facts?.price ?? null;
  const tokensIn = estimateRequestTokens(request) + pictures(request) * IMAGE_TOKENS;
  const most = facts?.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const tokensOut = Math.min(request.maxOutputTokens ?? most, most);
  const usage = (out: number): Usage => ({ tokensIn, tokensOut: out, tokensCached: 0 });
  return {
    tokensIn,
    worstUsd: costOf(usage(tokensOut), price),
    partly(streamed) {
      const sofar = usage(textTokens(streamed));
      return { ...sofar, costUsd: costOf(sofar, price) };
    },
    outputFor(usd) {
      const left = usd - (costOf(usage(0), price) ?? Number.POSITIVE_INFINITY);
      if (left < 0) return 0;
      return price?.out ? Math.floor((left * MILLION) / price.out) : Number.POSITIVE_INFINITY;
    },
  };
}

function pictures({ images }: ModelRequest): number {
  let count = 0;
  for (const shown of images?.values() ?? []) count += shown.length;
  return count;
}
