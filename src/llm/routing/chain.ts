import type { Model, ModelAnswer, ModelCallContext, ModelFailure, ModelRequest } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import type { SlotStatus } from '../../core/status.ts';
import { type Walk, walkFrom } from './failover-walk.ts';
import { begin } from './hedge.ts';
import { Leftovers } from './leftovers.ts';
import { type Slot, SlotState, statusOf, suited } from './slot.ts';

export interface ChainOptions {
  readonly clock: Clock;
  /** Failures in a row after which a model is degraded. Default 2. */
  readonly failureThreshold?: number;
  /** How long a degraded model is left alone before a try, or any (router) is stale. ms, default 60 s. */
  readonly probeIntervalMs?: number;
  /** Told of each failure of one model, also when another then answers. Must not throw. */
  readonly onFailed?: (model: string, failure: ModelFailure) => void;
  /** Told of an answer that came too late for the caller, and is billed all the same. Must not throw. */
  readonly onUnused?: (answer: ModelAnswer, context: ModelCallContext) => void;
}

/** Disposing waits for the streams of cancelled calls. */
export type Chain = Model & AsyncDisposable & { snapshot(): readonly SlotStatus[] };

/**
 * Models in the order of the config (spec B4): starts with the first healthy one, else the one with the
 * fewest failures in a row, and walks round. Degraded ones come last. Once per probe interval a call asks a
 * degraded model beside the healthy one, so that a model that recovered is used again and no message waits
 * for one that did not. At least one slot.
 */
export function createChain(slots: readonly Slot[], options: ChainOptions): Chain {
  const { clock, failureThreshold: threshold = 2, probeIntervalMs = 60_000 } = options;
  const states = slots.map((slot) => new SlotState(slot, { clock, threshold, probeIntervalMs }));
  const leftovers = new Leftovers(clock);
  return {
    ...wrapperFacts(states),
    [Symbol.asyncDispose]: () => leftovers[Symbol.asyncDispose](),
    call(request, signal) {
      const pool = suited(states, request);
      const walk: Walk = {
        ...{ request, signal, clock, leftovers, all: states },
        rest: (from) => healthyFirst(roundFrom(from, pool, states)),
        onFailed: (slot, failure) => options.onFailed?.(slot.model.id, failure),
        onUnused: (answer) => options.onUnused?.(answer, request.context),
      };
      return walkFrom((tried) => begin(startOf(pool, states, request), pool, tried, walk), walk);
    },
    // Nothing is rated here: the place in the config is all there is.
    snapshot: () => states.map((state, index) => statusOf(state, index / states.length, clock.monotonic())),
  };
}

/**
 * What a model that wraps several says of itself. The first one decides how much of a conversation is kept; a
 * request too long for another passes that one over.
 */
export function wrapperFacts(states: readonly SlotState[]): Pick<Model, 'id' | 'contextWindow' | 'demo'> {
  const [main] = states;
  if (!main) throw new RangeError('at least one model is needed');
  const demo = states.some(({ model }) => model.demo);
  return { id: main.model.id, contextWindow: main.model.contextWindow, ...(demo ? { demo } : {}) };
}

/**
 * The first slot that may be used in the ordinary way, also one whose window is too small, since it answers
 * what is made shorter; else the one with the fewest failures in a row.
 */
export function startOf(pool: readonly SlotState[], all: readonly SlotState[], request: ModelRequest): SlotState {
  const failures = ({ circuit }: SlotState): number => circuit.consecutiveFailures;
  const usable = [...pool, ...all.filter((slot) => slot.suits(request, 0))].find(({ circuit }) => circuit.admits);
  return usable ?? pool.reduce((best, slot) => (failures(slot) < failures(best) ? slot : best));
}

/** Those that may be used in the ordinary way before the last resorts; the order is kept otherwise. */
export function healthyFirst(slots: readonly SlotState[]): readonly SlotState[] {
  return [...slots.filter(({ circuit }) => circuit.admits), ...slots.filter(({ circuit }) => !circuit.admits)];
}

/** Those after `from`, then round to those before it; the ones that do not suit the request last. */
function roundFrom(from: SlotState, pool: readonly SlotState[], all: readonly SlotState[]): readonly SlotState[] {
  const at = all.indexOf(from);
  const round = [...all.slice(at + 1), ...all.slice(0, at)];
  return [...round.filter((slot) => pool.includes(slot)), ...round.filter((slot) => !pool.includes(slot))];
}
