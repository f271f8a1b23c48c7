import type { Model, ModelCallContext, ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { NO_LONGER_NEEDED } from '../../lib/no-longer-needed.ts';
import { abortedFailure, createFailure } from '../failure.ts';
import { type Budget, type LimitState, type Refused, type SpendingCall, shareLeft } from './budget.ts';
import { limitText, usdText } from './with-budget.ts';
import { withoutTools } from './without-tools.ts';

export type SpendingStep = 'cheaper' | 'no-tools' | 'ask' | 'stop';

/** What the owner is asked. `text` is one plain sentence without anything of the conversation. */
export interface SpendingQuestion extends Omit<Refused, 'kind' | 'reason' | 'held'> {
  readonly context: ModelCallContext;
  readonly text: string;
}

/** A step that was taken: data of the event `budget`. */
export interface SpendingStepTaken extends LimitState {
  readonly context: ModelCallContext;
  readonly step: 'cheaper' | 'no-tools' | 'asked' | 'allowed' | 'stopped';
  /** The model whose unknown price is in the way; absent: the limit itself is. */
  readonly unpriced?: string;
  /** The first time today for this limit and step: what a notice goes by. */
  readonly first: boolean;
}

export interface SpendingStepsOptions {
  readonly clock: Clock;
  /**
   * What is tried, in this order and up to `stop`, for a call that does not fit. From `cheaper` on the router
   * goes on to the next slot. Default: cheaper, no-tools, ask, stop. Read anew for each call.
   */
  readonly steps?: readonly SpendingStep[] | undefined;
  /** The model asked first is free: a nearly used limit is then no reason to spare tools. Default false. */
  readonly freeFirst?: (request: ModelRequest) => boolean;
  /** Below this share of a limit calls go without tools from the start. Default 0.1. */
  readonly lowShare?: number;
  /** The fewest output tokens worth a call whose output limit is lowered. Default 256. */
  readonly minOutputTokens?: number;
  /** How long a call waits when only money held for running calls is in its way. ms, default 30,000. */
  readonly waitMs?: number;
  /**
   * Asks the owner to let this one call pass the limit. Resolves to the name of the signal that tells the
   * answer: `allow`, `deny`, or anything else for a limit that has changed meanwhile. Undefined = no, or the
   * owner cannot be asked; a rejection counts as no. Absent: the owner is not asked, and neither for a
   * request that may not wait.
   */
  readonly askOwner?: ((question: SpendingQuestion) => Promise<string | undefined>) | undefined;
  /** Must not throw. */
  readonly onStep?: (taken: SpendingStepTaken) => void;
}

/** Outermost, around the router: what is done about a call that its slots refused for money. */
export function withSpendingSteps(model: Model, budget: Budget, options: SpendingStepsOptions): Model {
  const memory = new DayMemory(budget);
  return {
    // What is inside may be swapped while the daemon runs.
    get id() {
      return model.id;
    },
    get contextWindow() {
      return model.contextWindow;
    },
    get demo() {
      return model.demo ?? false;
    },
    ...(model.facts ? { facts: model.facts } : {}),
    async *call(request, signal) {
      if (signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
      if (model.demo || !budget.limited(request.context)) return yield* model.call(request, signal);
      yield* new Ladder({ model, budget, options, memory, request, signal }).run();
    },
  };
}

/** A call's output limit may be lowered to this before anything else is tried: enough for a long answer. */
const PLAIN_OUTPUT_TOKENS = 4_096;

interface LadderParts {
  readonly model: Model;
  readonly budget: Budget;
  readonly options: SpendingStepsOptions;
  readonly memory: DayMemory;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
}

/** How an attempt ended that did not end the call. */
interface Turned {
  readonly failure: ModelFailure;
  readonly refused: Refused;
}

type Attempt = (terms?: { readonly beyond: true }) => { readonly request: ModelRequest; readonly call: SpendingCall };

class Ladder {
  readonly #parts: LadderParts;
  readonly #steps: readonly SpendingStep[];
  /** Text was yielded that no `restart` took back. */
  #streamed = false;
  #waitLeftMs: number;
  /** The step `cheaper` was not reached. */
  #alone: boolean;
  /** `SpendingCall.dearestUsd` of the whole request: a yes lets that through. Undefined: not tried. */
  #dearestUsd: number | undefined;

  constructor(parts: LadderParts) {
    this.#parts = parts;
    const { steps = ['cheaper', 'no-tools', 'ask', 'stop'], waitMs = 30_000 } = parts.options;
    const stop = steps.indexOf('stop');
    this.#steps = stop === -1 ? steps : steps.slice(0, stop);
    this.#alone = this.#steps[0] !== 'cheaper';
    this.#waitLeftMs = waitMs;
  }

  async *run(): AsyncGenerator<ModelEvent> {
    const low = this.#low();
    if (low) this.#report('no-tools', low);
    const first = low ? this.#thrifty : this.#plain;
    let turned = yield* this.#attempt(first);
    for (const step of this.#steps) {
      if (!turned || this.#parts.signal.aborted) break;
      if (step === 'cheaper' && this.#alone) {
        this.#alone = false;
        turned = yield* this.#attempt(first);
      } else if (step === 'no-tools' && !low) turned = yield* this.#withoutTools(turned);
      else if (step === 'ask') turned = yield* this.#ask(turned);
    }
    if (!turned) return;
    if (this.#parts.signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
    if (turned.failure.kind === 'budget') this.#report('stopped', turned.refused);
    yield { type: 'failed', failure: turned.failure };
  }

  /** The limit that is nearly used up, when that is a reason to leave the tools out from the start. */
  #low(): LimitState | undefined {
    const { budget, request, options } = this.#parts;
    if (options.freeFirst?.(request) || !this.#steps.includes('no-tools') || request.tools.length === 0) return undefined;
    const tightest = budget.tightest(request.context);
    return tightest && shareLeft(tightest) < (options.lowShare ?? 0.1) ? tightest : undefined;
  }

  readonly #plain: Attempt = (terms) => {
    const { budget, request } = this.#parts;
    const call = budget.call(request.context, { fitFrom: PLAIN_OUTPUT_TOKENS, alone: this.#alone, ...terms });
    return { call, request: { ...request, context: call.context } };
  };

  readonly #thrifty: Attempt = () => {
    const { budget, request, options } = this.#parts;
    const call = budget.call(request.context, { fitFrom: options.minOutputTokens ?? 256, alone: this.#alone });
    return { call, request: { ...withoutTools(request), context: call.context } };
  };

  async *#withoutTools(turned: Turned): AsyncGenerator<ModelEvent, Turned | undefined> {
    // No smaller call makes an unknown price known.
    if (turned.refused.reason === 'unknown-price') return turned;
    const next = yield* this.#attempt(this.#thrifty);
    if (!next) this.#report('no-tools', turned.refused);
    return next;
  }

  async *#ask(turned: Turned): AsyncGenerator<ModelEvent, Turned | undefined> {
    const { refused } = turned;
    const { options, signal, request } = this.#parts;
    const verdict = request.mayWait?.verdict;
    if (!options.askOwner || !request.mayWait || verdict === 'deny') return turned;
    if (verdict === 'allow') {
      const next = yield* this.#attempt(() => this.#plain({ beyond: true }));
      if (!next) this.#report('allowed', refused);
      return next;
    }
    if (this.#dearestUsd === undefined && !(yield* this.#attempt(this.#plain))) return undefined;
    const name = await this.#name(options.askOwner, refused);
    if (name === undefined || signal.aborted) return turned;
    this.#report('asked', refused);
    yield { type: 'wait', wait: { kind: 'signal', about: name } };
    return undefined;
  }

  async #name(askOwner: NonNullable<SpendingStepsOptions['askOwner']>, refused: Refused): Promise<string | undefined> {
    const { context } = this.#parts.request;
    const dearestUsd = this.#dearestUsd ?? Number.POSITIVE_INFINITY;
    const cost = dearestUsd === Number.POSITIVE_INFINITY ? 'of unknown price' : `of at most ${usdText(dearestUsd)}`;
    const text = `There is ${limitText(refused)}; ${usdText(refused.spentUsd)} are spent. Allow one more call ${cost}?`;
    try {
      return await askOwner({ ...refused, context, text });
    } catch {
      return undefined; // an owner who cannot be asked has not allowed it
    }
  }

  /** One call, again after each wait while only running calls are in its way. Undefined = it has ended. */
  async *#attempt(make: Attempt): AsyncGenerator<ModelEvent, Turned | undefined> {
    for (;;) {
      const { request, call } = make();
      const failure = yield* this.#once(request);
      if (make === this.#plain) this.#dearestUsd = Math.max(this.#dearestUsd ?? 0, call.dearestUsd);
      if (!failure) {
        if (call.refused && !this.#alone) this.#report('cheaper', call.refused);
        return undefined;
      }
      if (!call.refused || failure.kind === 'aborted') {
        yield { type: 'failed', failure };
        return undefined;
      }
      if (!call.refused.held || !(await this.#waited(call.refused))) return { failure, refused: call.refused };
    }
  }

  async *#once(request: ModelRequest): AsyncGenerator<ModelEvent, ModelFailure | undefined> {
    const { model, signal } = this.#parts;
    if (this.#streamed) {
      this.#streamed = false;
      yield { type: 'restart', reason: 'budget' };
    }
    for await (const event of model.call(request, signal)) {
      if (event.type === 'failed') return event.failure;
      if (event.type === 'text' || event.type === 'reasoning') this.#streamed = true;
      if (event.type === 'restart') this.#streamed = false;
      yield event;
      if (event.type === 'done') return undefined;
    }
    return createFailure('malformed', { message: `${model.id} ended without an answer` });
  }

  /** Until that worst case fits. False: time is up, or the signal aborted, or it can never fit any more. */
  async #waited(refused: Refused): Promise<boolean> {
    const { budget, options, request, signal } = this.#parts;
    const { clock } = options;
    const startedAt = clock.monotonic();
    const timer = new AbortController();
    const either = AbortSignal.any([signal, timer.signal]);
    const expired = clock.sleep(Math.max(0, this.#waitLeftMs), either).then(
      () => timer.abort(NO_LONGER_NEEDED),
      () => undefined, // the signal aborted, or the wait is over: both are seen below
    );
    try {
      for (;;) {
        const outlook = budget.outlook(request.context, refused.worstUsd);
        if (outlook !== 'held') return outlook === 'fits';
        await budget.changed(either);
      }
    } catch (error) {
      if (!either.aborted) throw error;
      return false;
    } finally {
      timer.abort(NO_LONGER_NEEDED);
      await expired;
      this.#waitLeftMs -= clock.monotonic() - startedAt;
    }
  }

  #report(step: SpendingStepTaken['step'], state: LimitState & Partial<Refused>): void {
    const { memory, options, request } = this.#parts;
    const { limit, key, limitUsd, spentUsd, reservedUsd, reason, model = '' } = state;
    const unpriced = reason === 'unknown-price' ? { unpriced: model } : {};
    const first = memory.isFirst(`${step} ${key} ${unpriced.unpriced}`);
    options.onStep?.({ limit, key, limitUsd, spentUsd, reservedUsd, step, ...unpriced, first, context: request.context });
  }
}

/** What was said today: gone with the day. */
class DayMemory {
  readonly #budget: Budget;
  #day = 0;
  readonly #said = new Set<string>();
  constructor(budget: Budget) {
    this.#budget = budget;
  }

  isFirst(what: string): boolean {
    const { day } = this.#budget;
    if (day !== this.#day) this.#said.clear();
    this.#day = day;
    const { size } = this.#said;
    return this.#said.add(what).size > size;
  }
}
