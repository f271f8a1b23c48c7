import type { ModelAnswer, ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { abortedFailure, createFailure } from '../failure.ts';
import { TELL_FROM_MS } from '../retry.ts';
import { Attempt } from './attempt.ts';
import { isFailoverWorthy, isModelFault } from './failover.ts';
import type { Leftovers } from './leftovers.ts';
import type { SlotState } from './slot.ts';

/** Longest Retry-After that is waited for when every model has failed: the cap of a retry (spec B3). */
const PATIENCE_MS = 60_000;

export interface Walk {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly all: readonly SlotState[];
  readonly leftovers: Leftovers;
  /** Slots worth a try after `from` failed, best first, read after each failure; tried ones are skipped. */
  readonly rest: (from: SlotState) => readonly SlotState[];
  /** Told as those of the same name in `ChainOptions`. */
  readonly onFailed?: (slot: SlotState, failure: ModelFailure) => void;
  readonly onUnused?: (answer: ModelAnswer) => void;
}

/** How a piece of a walk ended when it did not end with an answer. */
export interface Unanswered {
  readonly slot: SlotState;
  /** Text was yielded that the next model must take back. */
  readonly streamed: boolean;
}

/** Slots that failed in this call, in order. */
export type Tried = Map<SlotState, ModelFailure>;

/** A piece of a walk: yields everything but a failure, and returns undefined after `done`. */
export type Piece = AsyncGenerator<ModelEvent, Unanswered | undefined>;

/**
 * Calls `first`, then the rest while failures are worth it; ends with exactly one `done` or `failed`. What a
 * model streamed before it broke is taken back: tools only run on `done`, so it had no effect.
 */
export async function* walkFrom(first: (tried: Tried) => Piece, walk: Walk): AsyncGenerator<ModelEvent> {
  const { signal } = walk;
  const tried: Tried = new Map();
  if (signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
  let waited = false;
  let ended = yield* first(tried);
  while (ended) {
    const { slot, streamed }: Unanswered = ended;
    if (signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
    let next = nextSlot(slot, tried, walk);
    if (!next && !waited) {
      waited = true;
      next = yield* waitForLimit(tried, walk);
      if (signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
    }
    if (!next) return yield { type: 'failed', failure: overall(tried, walk) };
    const reason = tried.get(slot)?.kind ?? 'failed';
    if (next !== slot) yield { type: 'switched', from: slot.model.id, to: next.model.id, reason };
    if (streamed) yield { type: 'restart', reason };
    ended = yield* attemptOn(next, tried, walk);
  }
}

/** One slot, one call. */
export async function* attemptOn(slot: SlotState, tried: Tried, walk: Walk): Piece {
  return yield* drain(new Attempt(slot, walk.request, walk), tried, walk);
}

/** Passes on what is left of an attempt. A consumer that leaves early closes it. */
export async function* drain(attempt: Attempt, tried: Tried, walk: Walk): Piece {
  try {
    for (;;) {
      const event = await attempt.next();
      if (event.type === 'failed') {
        noteFailure(attempt.slot, event.failure, tried, walk);
        return { slot: attempt.slot, streamed: attempt.streamed };
      }
      yield event;
      if (event.type === 'done') return undefined;
    }
  } finally {
    await attempt.close();
  }
}

export function noteFailure(slot: SlotState, failure: ModelFailure, tried: Tried, walk: Walk): void {
  tried.set(slot, failure);
  walk.onFailed?.(slot, failure);
}

function nextSlot(from: SlotState, tried: Tried, { rest }: Walk): SlotState | undefined {
  // A prompt too long for one window may fit a larger one, and fits no smaller one.
  let window = 0;
  for (const [slot, failure] of tried) {
    if (failure.kind === 'context-length') window = Math.max(window, slot.model.contextWindow);
    else if (!isFailoverWorthy(failure)) return undefined;
  }
  const larger = rest(from).filter((slot) => !tried.has(slot) && slot.model.contextWindow > window);
  // Rather a shorter conversation than one that waits for a model that is down.
  return larger.find(({ circuit }) => window === 0 || circuit.admits);
}

/**
 * No model is left to try, but one said when to come back: a late answer is better than none. Once per call,
 * and only within the wait a single model would be given.
 */
async function* waitForLimit(tried: Tried, { clock, signal }: Walk): AsyncGenerator<ModelEvent, SlotState | undefined> {
  let best: { slot: SlotState; ms: number } | undefined;
  for (const [slot, failure] of tried) {
    if (!isFailoverWorthy(failure)) return undefined;
    if (failure.kind !== 'rate-limit' || failure.retryAfterMs === undefined || failure.retryAfterMs > PATIENCE_MS) continue;
    if (!best || failure.retryAfterMs < best.ms) best = { slot, ms: failure.retryAfterMs };
  }
  if (!best) return undefined;
  if (best.ms >= TELL_FROM_MS) yield { type: 'waiting', reason: 'rate-limit', waitMs: best.ms };
  try {
    await clock.sleep(best.ms, signal);
  } catch {
    return undefined; // the signal aborted; the caller says so
  }
  return best.slot;
}

/**
 * What to tell when all failed: the first failure, the main model's (spec B6), but our own spending limit
 * only when there is nothing else. Where the request is too long for the one model that is not down, that,
 * and what its window is: it answers a shorter one. The message names the others.
 */
function overall(tried: Tried, { all: [main] }: Walk): ModelFailure {
  const failures = [...tried];
  const tooLong = failures.filter(([, { kind }]) => kind === 'context-length');
  const only = failures.every(([, failure]) => failure.kind === 'context-length' || isModelFault(failure));
  // The walk went on to larger windows only.
  const largest = tooLong.find(([slot]) => slot === main) ?? tooLong.at(-1);
  const chosen = (only && largest) || (failures.find(([, { kind }]) => kind !== 'budget') ?? failures[0]);
  if (!chosen) return createFailure('malformed', { message: 'the model ended without an outcome' });
  const [slot, said] = chosen;
  const { id: model, contextWindow } = slot.model;
  // The innermost chain knows best which model it was. The main model's own window was kept to already.
  const whose = slot === main ? { model } : { model, contextWindow };
  const failure = said.kind === 'context-length' ? { ...whose, ...said } : said;
  const others = failures.filter(([other]) => other !== slot).map(([other, { kind }]) => `${other.model.id} (${kind})`);
  return others.length === 0 ? failure : { ...failure, message: `${failure.message}; also failed: ${others.join(', ')}` };
}
