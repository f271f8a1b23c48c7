import type { UsageEntry } from '../../core/ledger.ts';
import type { FailureKind, Model, ModelAnswer, ModelEvent, ModelFailure, ModelRequest, Price, Usage } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { isSameModel } from '../catalog/catalog.ts';
import { priceAt } from '../catalog/price.ts';
import { abortedFailure, createFailure } from '../failure.ts';
import { mayThink } from '../protocols/thinking.ts';
import { textTokens } from '../tokens.ts';
import type { Budget, LimitState, Refused, Reservation } from './budget.ts';
import { type CallEstimate, estimateCall } from './cost.ts';
import { unfinishedEntry } from './usage-entry.ts';

export interface BudgetedOptions {
  readonly clock: Clock;
  /**
   * Told what a call without an answer has cost, for the ledger (`Journal.spend`): by its provider's count,
   * else by our estimate. The provider bills it, and after a restart the ledger is all that is known. Purpose
   * is `<purpose>:unfinished`. Must not throw.
   */
  readonly onUnfinished?: (entry: UsageEntry) => void;
  /** Price of a model that answered in place of the one asked. Absent or null: that of the one asked. */
  readonly priceOf?: (provider: string, model: string) => Price | null;
  /** Told when what a provider counted cannot be right, and what is booked instead. Must not throw. */
  readonly onOddUsage?: (odd: { readonly model: string; readonly detail: string }) => void;
}

/**
 * Innermost, around a wire: each attempt is billed by its provider, so each is reserved and booked. A
 * `restart` is then the wire's own and part of the same call. Answers leave it with a usage that can be
 * booked and its cost (null = unknown price). A call that does not fit ends with `failed` of kind `budget`
 * (GH2112; GH2113: unknown price) and nothing is sent; the router may then go on to a cheaper slot. The demo
 * costs nothing and passes through.
 */
export function withBudget(model: Model, budget: Budget, options: BudgetedOptions): Model {
  if (model.demo) return model;
  return {
    ...model,
    async *call(request, signal) {
      if (signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
      yield* new BudgetedCall(model, budget, options, request).run(signal);
    },
  };
}

/** May have been worked on. Anything else was refused before a token was made: nothing is billed. */
const BILLED: readonly FailureKind[] = ['timeout', 'content-filter', 'empty', 'malformed', 'aborted'];

/** Whether the request was refused and not worked on. */
export function isUnbilled({ kind, status }: ModelFailure): boolean {
  return !BILLED.includes(kind) || (status !== undefined && status >= 400);
}

/** A longer one is no name, and its price would be looked for word by word. */
const NAME_CHARS = 200;

/** Of a model that thinks without showing it. */
const THOUGHT_TOKENS_PER_MS = 0.05;

class BudgetedCall {
  readonly #model: Model;
  readonly #budget: Budget;
  readonly #options: BudgetedOptions;
  readonly #request: ModelRequest;
  /** With the price of the day. */
  readonly #facts: Model['facts'];
  #known: CallEstimate | undefined;
  #streamed = '';
  readonly #startedAt: number;
  #spokeAt: number | undefined;

  constructor(model: Model, budget: Budget, options: BudgetedOptions, request: ModelRequest) {
    this.#model = model;
    this.#budget = budget;
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.#facts = model.facts && { ...model.facts, price: priceAt(model.facts.price, options.clock.now()) };
    this.#request = this.#fitted(budget.limited(request.context) ? this.#bounded(request) : request);
  }

  /** Made when it is needed: it reads the whole request. */
  get #estimate(): CallEstimate {
    this.#known ??= estimateCall(this.#request, this.#facts);
    return this.#known;
  }

  async *run(signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const { context } = this.#request;
    const reservation = this.#budget.reserve(context, this.#budget.limited(context) ? this.#estimate.worstUsd : 0);
    if (reservation.kind === 'refused') {
      const terms = this.#budget.termsOf(context);
      if (terms) terms.refused = { ...reservation, model: this.#model.id };
      const failure = refusalFailure(reservation, this.#model.id);
      return yield { type: 'failed', failure: terms?.alone ? { ...failure, final: true } : failure };
    }
    try {
      for await (const event of this.#model.call(this.#request, signal)) {
        if (event.type === 'text' || event.type === 'reasoning') {
          this.#streamed += event.text;
          this.#spokeAt ??= this.#options.clock.monotonic();
        }
        if (event.type === 'done') return yield this.#answered(reservation, event.answer);
        if (event.type === 'failed') this.#settleFailed(reservation, event.failure);
        yield event;
        if (event.type === 'failed') return;
      }
    } finally {
      // Only a call that neither answered nor failed is still open here: its consumer left.
      if (reservation.open) this.#settleUnfinished(reservation, this.#withThoughts());
    }
  }

  /** With the reserved output limit: a provider may allow more. Half the window is for the question. */
  #bounded(request: ModelRequest): ModelRequest {
    const most = Math.min(this.#facts?.maxOutputTokens ?? Infinity, Math.floor(this.#model.contextWindow / 2));
    return { ...request, maxOutputTokens: Math.min(request.maxOutputTokens ?? most, most) };
  }

  /**
   * Lowers the output limit where the terms of the call allow it: to what a quarter of the money left pays
   * for, since the limits of models are high and other calls want room beside this one; where that is too
   * little, to what all of it pays for.
   */
  #fitted(request: ModelRequest): ModelRequest {
    const from = this.#budget.termsOf(request.context)?.fitFrom;
    if (from === undefined) return request;
    const estimate = estimateCall(request, this.#facts);
    const left = this.#budget.leftUsd(request.context);
    if (estimate.worstUsd === null || estimate.worstUsd <= left / 4) return request;
    const shared = estimate.outputFor(left / 4);
    const most = shared >= from ? shared : estimate.outputFor(left);
    if (most < from || most === Number.POSITIVE_INFINITY) return request;
    return { ...request, maxOutputTokens: Math.min(most, request.maxOutputTokens ?? most) };
  }

  #answered(reservation: Reservation, answer: ModelAnswer): ModelEvent {
    const { provider, model, servedModel = model } = answer;
    const isName = servedModel !== model && servedModel.length <= NAME_CHARS;
    const other = isName ? this.#options.priceOf?.(provider, servedModel) : null;
    // Another name of the model that was asked is that model, unless it is known by itself.
    const served = other?.guess && isSameModel(model, servedModel) ? null : other;
    const usage = this.#settled(answer.usage, served);
    reservation.settle(usage.costUsd ?? null);
    return { type: 'done', answer: { ...answer, usage } };
  }

  /** A server that counts nothing is not free: our own count stands in. */
  #settled(reported: Usage | undefined, served?: Price | null): Usage {
    const { contextWindow, id } = this.#model;
    const booked = reported && this.#estimate.booked(reported, contextWindow, served);
    const usage = booked?.usage ?? this.#estimate.partly(this.#streamed);
    const told = booked?.odd ? this.#options.onOddUsage : undefined;
    told?.({ model: id, detail: `reported ${JSON.stringify(reported)}, booked ${JSON.stringify(usage)}` });
    return usage;
  }

  /**
   * What the provider counted is charged. Without that, a connection that failed and a refusal by status cost
   * nothing; a call that was worked on and broke off (cut stream, time limit, abort, withheld or empty
   * answer) is billed by every provider for its input and what it had written, so that is what it is charged:
   * too much where the provider never began, which errs to the side of the limit.
   */
  #settleFailed(reservation: Reservation, failure: ModelFailure): void {
    const { tokensIn = 0, tokensOut = 0 } = failure.usage ?? {};
    if (isUnbilled(failure) && this.#streamed === '' && tokensIn + tokensOut === 0) reservation.release();
    else {
      const isOurs = failure.status === undefined && (failure.kind === 'aborted' || failure.kind === 'timeout');
      this.#settleUnfinished(reservation, isOurs ? this.#withThoughts(failure.usage) : failure.usage);
    }
  }

  /** Of a call that we broke off: silent thinking is billed as well, and its time is all we know of it. */
  #withThoughts(counted: Usage = this.#estimate.partly(this.#streamed)): Usage {
    const { thinking = [], maxOutputTokens = 0 } = this.#facts ?? {};
    if (!mayThink(this.#request.thinking, thinking)) return counted;
    const silentMs = (this.#spokeAt ?? this.#options.clock.monotonic()) - this.#startedAt;
    const most = Math.min(maxOutputTokens, this.#request.maxOutputTokens ?? maxOutputTokens);
    const written = textTokens(this.#streamed) + Math.ceil(silentMs * THOUGHT_TOKENS_PER_MS);
    return { ...counted, costUsd: null, tokensOut: Math.max(counted.tokensOut, Math.min(written, most)) };
  }

  #settleUnfinished(reservation: Reservation, counted?: Usage): void {
    const usage = this.#settled(counted);
    reservation.settle(usage.costUsd ?? null);
    const spent = { context: this.#request.context, at: this.#options.clock.now(), usage };
    this.#options.onUnfinished?.(unfinishedEntry(this.#model.id, spent));
  }
}

/** What a refused call ends with: figures for the operator; the chat gets the sentence of its kind. */
export function refusalFailure(refused: Refused, model: string): ModelFailure {
  const { retryAfterMs, worstUsd } = refused;
  if (refused.reason === 'unknown-price') {
    const message = `${model} was not called: its price is unknown and there is ${limitText(refused)}`;
    return createFailure('budget', { message, code: 'GH2113' });
  }
  const figures = `${usdText(refused.spentUsd)} spent, ${usdText(refused.reservedUsd)} held for running calls`;
  const message = `${model} was not called: ${limitText(refused)}, ${figures}, this call may cost ${usdText(worstUsd ?? 0)}`;
  return createFailure('budget', { message, retryAfterMs });
}

const LIMIT_WORDS: Readonly<Record<LimitState['limit'], string>> = {
  day: 'a day',
  session: 'a day for this session',
  sender: 'a day for this sender',
  job: 'for this job',
};

/** `a limit of 2.00 USD a day`. */
export function limitText({ limit, limitUsd }: Pick<LimitState, 'limit' | 'limitUsd'>): string {
  return `a limit of ${usdText(limitUsd)} ${LIMIT_WORDS[limit]}`;
}

/** Cents, and more places for amounts that have no cents. */
export function usdText(usd: number): string {
  return `${usd.toFixed(placesOf(usd))} USD`;
}

/** `0.0063 of 0.0100 USD`. */
export function spentText({ spentUsd, limitUsd }: Pick<LimitState, 'spentUsd' | 'limitUsd'>): string {
  return `${spentUsd.toFixed(placesOf(limitUsd))} of ${usdText(limitUsd)}`;
}

function placesOf(usd: number): number {
  return usd !== 0 && usd < 0.1 ? 4 : 2;
}
