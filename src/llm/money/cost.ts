import type { ModelFacts, ModelRequest, Price, Usage } from '../../core/model.ts';
import { estimateRequestTokens, textTokens } from '../tokens.ts';

const MILLION = 1_000_000;
/** Our estimate counts a token for at most so many bytes; no text has more tokens than bytes. */
const MOST_TOKENS_PER_ESTIMATED = 5;
/** Price tables have been wrong by a factor of 33; a reported cost further from the worst case is no cost. */
const MOST_COST_PER_WORST = 100;

/** USD of a finished call, null for an unknown price. Cached tokens without their own rate cost as input. */
export function costOf(usage: Usage, price: Price | null): number | null {
  if (!price) return null;
  const rates = price.tiers?.findLast(({ aboveTokensIn }) => usage.tokensIn > aboveTokensIn) ?? price;
  // Some servers report more cached tokens than input.
  const cached = Math.min(usage.tokensCached, usage.tokensIn);
  const written = Math.min(usage.tokensCacheWrite ?? 0, usage.tokensIn - cached);
  const input = (usage.tokensIn - cached - written) * rates.in + cached * (rates.cached ?? rates.in);
  return (input + written * (rates.cacheWrite ?? rates.in) + usage.tokensOut * rates.out) / MILLION;
}

/** What a call may cost before it is made, and what it has cost when it is over. */
export interface CallEstimate {
  readonly tokensIn: number;
  /** Input and every token the answer may have; null = unknown price. */
  readonly worstUsd: number | null;
  /** Input and this much of the answer. */
  partly(streamed: string): Usage & { readonly costUsd: number | null };
  /** The most output tokens whose worst case fits `usd`: 0 when the input does not, Infinity when free. */
  outputFor(usd: number): number;
  /**
   * What to book for the usage that a provider reported, with its cost; undefined when it counted nothing, or
   * not in numbers. A count beyond what window and output limit allow becomes what was reserved for it. The
   * provider's cost is preferred to ours. `servedPrice`: of another model that answered. `odd`: something was
   * not believed.
   */
  booked(reported: Usage, contextWindow: number, servedPrice?: Price | null): { usage: Usage; odd: boolean } | undefined;
}

/** Facts absent = nothing is known, not even the price. */
export function estimateCall(request: ModelRequest, facts: ModelFacts | undefined): CallEstimate {
  const price = facts?.price ?? null;
  const tokensIn = estimateRequestTokens(request);
  const limit = facts?.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const tokensOut = Math.min(request.maxOutputTokens ?? limit, limit);
  const usage = (out: number): Usage => ({ tokensIn, tokensOut: out, tokensCached: 0 });
  const worst = price && worstRates(price, tokensIn);
  const worstUsd = costOf(usage(tokensOut), worst);
  return {
    tokensIn,
    worstUsd,
    partly(streamed) {
      const sofar = usage(textTokens(streamed));
      return { ...sofar, costUsd: costOf(sofar, price) };
    },
    outputFor(usd) {
      const left = usd - (costOf(usage(0), worst) ?? Number.POSITIVE_INFINITY);
      if (left < 0) return 0;
      return worst?.out ? Math.floor((left * MILLION) / worst.out) : Number.POSITIVE_INFINITY;
    },
    booked({ costUsd = null, ...told }, contextWindow, servedPrice) {
      if (!isCount(told.tokensIn) || !isCount(told.tokensOut) || told.tokensIn + told.tokensOut === 0) return undefined;
      const mostOut = Math.max(request.maxOutputTokens ?? 0, Math.min(limit, contextWindow));
      const counts = withBoundedParts({
        ...told,
        tokensIn: told.tokensIn > contextWindow ? Math.min(tokensIn, contextWindow) : told.tokensIn,
        tokensOut: told.tokensOut > mostOut ? Math.min(tokensOut, mostOut) : told.tokensOut,
      });
      const isCost = costUsd !== null && costUsd >= 0 && costUsd <= (worstUsd || 1) * MOST_COST_PER_WORST;
      const odd = counts.tokensIn !== told.tokensIn || counts.tokensOut !== told.tokensOut || (costUsd !== null && !isCost);
      return { usage: { ...counts, costUsd: isCost ? costUsd : costOf(counts, servedPrice ?? price) }, odd };
    },
  };
}

function withBoundedParts({ tokensCached, tokensCacheWrite, tokensReasoning, ...whole }: Usage): Usage {
  const cached = part(tokensCached, whole.tokensIn);
  return {
    ...whole,
    tokensCached: cached,
    ...(tokensCacheWrite === undefined ? {} : { tokensCacheWrite: part(tokensCacheWrite, whole.tokensIn - cached) }),
    ...(tokensReasoning === undefined ? {} : { tokensReasoning: part(tokensReasoning, whole.tokensOut) }),
  };
}

function part(value: number, whole: number): number {
  return isCount(value) ? Math.min(value, whole) : 0;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** All input as the dearest kind, at the dearest rates that so many estimated tokens meet. */
function worstRates(price: Price, tokensIn: number): Price {
  const isMet = ({ aboveTokensIn }: { readonly aboveTokensIn: number }): boolean =>
    aboveTokensIn < tokensIn * MOST_TOKENS_PER_ESTIMATED;
  const met = [price, ...(price.tiers ?? []).filter(isMet)];
  return {
    in: Math.max(...met.flatMap((rates) => [rates.in, rates.cacheWrite ?? 0])),
    out: Math.max(...met.map(({ out }) => out)),
  };
}
