import type { Model, ModelEvent, ModelRequest } from '../../core/model.ts';
import type { SlotStatus } from '../../core/status.ts';
import { type ChainOptions, healthyFirst, startOf, wrapperFacts } from './chain.ts';
import { type Piece, type Tried, type Walk, walkFrom } from './failover-walk.ts';
import { begin, hedge } from './hedge.ts';
import { Leftovers } from './leftovers.ts';
import { DEFAULT_WEIGHTS, type ScoreWeights, scoreTerms, weighed } from './score.ts';
import { type Slot, SlotState, statusOf, suited } from './slot.ts';

/** off: the first model that works. lane: the best by score. hedge: two at once until the first token. */
export type RoutingMode = 'off' | 'lane' | 'hedge';

export interface AdaptiveRouterOptions extends ChainOptions {
  /** 0 <= x < 1. */
  readonly random: () => number;
  /** Default `lane`. */
  readonly mode?: RoutingMode;
  readonly weights?: Partial<ScoreWeights>;
  /** Share of calls that try a model not used for a while (lane). Default 0.1. */
  readonly probeProbability?: number;
}

/** A model over several (spec B5). Disposing waits for the streams of cancelled calls. */
export interface AdaptiveRouter extends Model, AsyncDisposable {
  /** How the next calls are routed; to be changed at any time. */
  mode: RoutingMode;
  /** In the order of the slots. */
  snapshot(): readonly SlotStatus[];
}

/** At least one slot; the order of the slots is their priority. */
export function createAdaptiveRouter(slots: readonly Slot[], options: AdaptiveRouterOptions): AdaptiveRouter {
  return new Router(slots, options);
}

class Router implements AdaptiveRouter {
  readonly id: string;
  readonly contextWindow: number;
  readonly demo?: boolean;
  readonly #options: AdaptiveRouterOptions;
  readonly #weights: ScoreWeights;
  readonly #probeIntervalMs: number;
  readonly #slots: readonly SlotState[];
  readonly #leftovers: Leftovers;
  mode: RoutingMode;

  constructor(slots: readonly Slot[], options: AdaptiveRouterOptions) {
    const { clock, failureThreshold: threshold = 2, probeIntervalMs = 60_000 } = options;
    this.#options = options;
    this.#leftovers = new Leftovers(clock);
    this.#weights = { ...DEFAULT_WEIGHTS, ...options.weights };
    this.#probeIntervalMs = probeIntervalMs;
    this.#slots = slots.map((slot) => new SlotState(slot, { clock, threshold, probeIntervalMs }));
    const { id, contextWindow, demo } = wrapperFacts(this.#slots);
    this.id = id;
    this.contextWindow = contextWindow;
    if (demo) this.demo = demo;
    this.mode = options.mode ?? 'lane';
  }

  call(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    const pool = suited(this.#slots, request);
    const walk: Walk = {
      request,
      signal,
      clock: this.#options.clock,
      all: this.#slots,
      rest: () => this.#rest(pool),
      onFailed: (slot, failure) => this.#options.onFailed?.(slot.model.id, failure),
      onUnused: (answer) => this.#options.onUnused?.(answer, request.context),
      leftovers: this.#leftovers,
    };
    return walkFrom((tried) => this.#begin(pool, tried, walk), walk);
  }

  snapshot(): readonly SlotStatus[] {
    const scores = this.#scores();
    const now = this.#options.clock.monotonic();
    return this.#slots.map((slot, i) => statusOf(slot, scores[i] ?? 0, now));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leftovers[Symbol.asyncDispose]();
  }

  #begin(pool: readonly SlotState[], tried: Tried, walk: Walk): Piece {
    const first = this.#select(pool, walk.request);
    const alternate = this.mode === 'hedge' ? this.#alternate(first, pool) : undefined;
    return alternate ? hedge(first, alternate, tried, walk) : begin(first, this.#ranked(pool), tried, walk);
  }

  #select(pool: readonly SlotState[], request: ModelRequest): SlotState {
    const usable = pool.filter(({ circuit }) => circuit.admits);
    const [first] = usable;
    if (!first) return startOf(pool, this.#slots, request);
    if (this.mode !== 'lane') return first;
    // The trial of a half-open circuit is due: the score would never choose a model with failures behind it.
    const trial = usable.find(({ circuit }) => circuit.state === 'half-open');
    if (trial) return trial;
    const best = this.#ranked(usable)[0] ?? first;
    return this.#probe(usable.filter((slot) => slot !== best)) ?? best;
  }

  /** Now and then the model that was longest not used, so that its figures do not stay old for ever. */
  #probe(others: readonly SlotState[]): SlotState | undefined {
    const now = this.#options.clock.monotonic();
    const stale = others.filter(({ usedAt }) => usedAt === undefined || now - usedAt > this.#probeIntervalMs);
    if (stale.length === 0 || this.#options.random() >= (this.#options.probeProbability ?? 0.1)) return undefined;
    return stale.reduce((oldest, slot) => ((slot.usedAt ?? -Infinity) < (oldest.usedAt ?? -Infinity) ? slot : oldest));
  }

  /** Of another provider, or both would fail together. The cheapest; without prices the best (spec B5). */
  #alternate(primary: SlotState, pool: readonly SlotState[]): SlotState | undefined {
    const others = pool.filter((slot) => slot.provider !== primary.provider && slot.circuit.admits);
    const priced = others.filter(({ cost }) => cost !== undefined);
    if (priced.length === 0) return this.#ranked(others)[0];
    return priced.reduce((cheapest, slot) => ((slot.cost ?? 0) < (cheapest.cost ?? 0) ? slot : cheapest));
  }

  /** Where a failed call may go, by score: open circuits last, then models that do not suit the request. */
  #rest(pool: readonly SlotState[]): readonly SlotState[] {
    const unsuited = this.#slots.filter((slot) => !pool.includes(slot));
    return [...healthyFirst(this.#ranked(pool)), ...healthyFirst(this.#ranked(unsuited))];
  }

  /** Best first. Scores are relative to all slots, whichever are ranked. */
  #ranked(slots: readonly SlotState[]): readonly SlotState[] {
    const scores = this.#scores();
    const score = new Map(this.#slots.map((slot, i) => [slot, scores[i] ?? 0]));
    const of = (slot: SlotState): number => score.get(slot) ?? 0;
    return slots.toSorted((a, b) => of(a) - of(b));
  }

  #scores(): number[] {
    return scoreTerms(this.#slots.map(({ scoreInput }) => scoreInput)).map((terms) => weighed(terms, this.#weights));
  }
}
