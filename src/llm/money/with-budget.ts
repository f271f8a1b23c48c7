import { randomUUID } from 'node:crypto';
import { ERROR_CODES } from '../../core/error-codes.ts';
import type { UsageEntry } from '../../core/journal.ts';
import type { FailureKind, Model, ModelEvent, ModelFacts, ModelFailure, ModelRequest, Usage } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { abortedFailure, createFailure } from '../failure.ts';
import type { Budget, LimitState, Refused, Reservation } from './budget.ts';
import { type CallEstimate, costOf, estimateCall } from './cost.ts';

export interface BudgetedOptions {
  readonly clock: Clock;
  /** Default: those of the model. Needed where a wrapper inside does not pass them on. */
  readonly facts?: ModelFacts;
  /**
   * Told what a call that broke off has cost by our estimate, for the ledger (`Journal.spend`): its provider bills it, and after a
   * restart the ledger is all that is known. Purpose is `<purpose>:unfinished`. Must not throw.
   */
  readonly onEstimate?: (entry: UsageEntry) => void;
}

/**
 * Around the wire and inside retry: each attempt is billed by its provider, so each is reserved and booked. A `restart` is then the
 * wire's own and part of the same call. A call that does not fit ends with `failed` of kind `budget` (GH2112; GH2113 when the price is
 * unknown) and nothing is sent; the router may then go on to a cheaper slot. The demo costs nothing and passes through.
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

/** Refused before a token was made: nothing is billed. Anything else may have been worked on. */
const UNBILLED: readonly FailureKind[] = [
  'rate-limit',
  'overloaded',
  'server',
  'network',
  'auth',
  'payment',
  'bad-request',
  'context-length',
  'budget',
];

/** Whether the request was refused and not worked on. */
export function isUnbilled({ kind, status }: ModelFailure): boolean {
  return UNBILLED.includes(kind) || (status !== undefined && status >= 400);
}

class BudgetedCall {
  readonly #model: Model;
  readonly #budget: Budget;
  readonly #options: BudgetedOptions;
  readonly #request: ModelRequest;
  readonly #facts: ModelFacts | undefined;
  #known: CallEstimate | undefined;
  #streamed = '';

  constructor(model: Model, budget: Budget, options: BudgetedOptions, request: ModelRequest) {
    this.#model = model;
    this.#budget = budget;
    this.#options = options;
    this.#facts = options.facts ?? model.facts;
    this.#request = this.#fitted(request);
  }

  /** Made when it is needed: it reads the whole request. */
  get #estimate(): CallEstimate {
    this.#known ??= estimateCall(this.#request, this.#facts);
    return this.#known;
  }

  async *run(signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const reservation = this.#reserve();
    if (reservation.kind === 'refused') return yield this.#refusal(reservation);
    try {
      for await (const event of this.#model.call(this.#request, signal)) {
        if (event.type === 'text' || event.type === 'reasoning') this.#streamed += event.text;
        if (event.type === 'done') reservation.settle(this.#actual(event.answer.usage));
        if (event.type === 'failed') this.#settleFailed(reservation, event.failure);
        yield event;
        if (event.type === 'done' || event.type === 'failed') return;
      }
    } finally {
      // Only a call that neither answered nor failed is still open here: its consumer left.
      this.#settleUnfinished(reservation);
    }
  }

  /** Lowers the output limit where the terms of the call allow it. */
  #fitted(request: ModelRequest): ModelRequest {
    const from = this.#budget.termsOf(request.context)?.fitFrom;
    if (from === undefined) return request;
    const estimate = estimateCall(request, this.#facts);
    const { worstUsd } = estimate;
    if (worstUsd === null || this.#budget.outlook(request.context, worstUsd) === 'fits') return request;
    const most = estimate.outputFor(this.#budget.leftUsd(request.context));
    if (most < from || most === Number.POSITIVE_INFINITY) return request;
    return { ...request, maxOutputTokens: Math.min(most, request.maxOutputTokens ?? most) };
  }

  #reserve(): Reservation | Refused {
    const { context } = this.#request;
    return this.#budget.reserve(context, this.#budget.limited(context) ? this.#estimate.worstUsd : 0);
  }

  #refusal(refused: Refused): ModelEvent {
    return { type: 'failed', failure: refusalFailure(refused, this.#model.id) };
  }

  #actual(usage: Usage): number | null {
    // A server that counts nothing is not free; our own count stands in.
    const counted = usage.tokensIn > 0 || usage.tokensOut > 0 ? usage : this.#estimate.partly(this.#streamed);
    const cost = costOf(counted, this.#facts?.price ?? null);
    return usage.costUsd === undefined || usage.costUsd === null || counted !== usage ? cost : usage.costUsd;
  }

  /**
   * A connection that failed and a refusal by status cost nothing. A call that was worked on and broke off (cut stream, time
   * limit, abort, withheld or empty answer) is billed by every provider for its input and what it had written, so that is what
   * it is charged: too much where the provider never began, which errs to the side of the limit.
   */
  #settleFailed(reservation: Reservation, failure: ModelFailure): void {
    if (isUnbilled(failure) && this.#streamed === '') reservation.release();
    else this.#settleUnfinished(reservation);
  }

  #settleUnfinished(reservation: Reservation): void {
    if (!reservation.open) return;
    const usage = this.#estimate.partly(this.#streamed);
    reservation.settle(usage.costUsd);
    const { session, channel, sender, purpose, job } = this.#request.context;
    const [provider, ...model] = this.#model.id.split('/');
    this.#options.onEstimate?.({
      id: `unfinished-${randomUUID()}`,
      at: this.#options.clock.now(),
      provider: provider ?? '',
      model: model.join('/'),
      ...usage,
      session,
      channel,
      sender,
      purpose: `${purpose}:unfinished`,
      ...(job === undefined ? {} : { job }),
    });
  }
}

/** What a refused call ends with: figures for the operator; the chat gets the sentence of its kind. */
export function refusalFailure(refused: Refused, model: string): ModelFailure {
  const { retryAfterMs, worstUsd } = refused;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (refused.reason === 'unknown-price') {
    const message = `${model} was not called: its price is unknown and there is ${limitText(refused)}`;
    return { ...createFailure('budget', { message, hint: ERROR_CODES.GH2113.hint }), code: 'GH2113' };
  }
  const figures = `${usdText(refused.spentUsd)} spent, ${usdText(refused.reservedUsd)} held for running calls`;
  const message = `${model} was not called: ${limitText(refused)}, ${figures}, this call may cost ${usdText(worstUsd ?? 0)}`;
  return createFailure('budget', { message, ...wait });
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
  const places = usd !== 0 && usd < 0.1 ? 4 : 2;
  return `${usd.toFixed(places)} USD`;
}
