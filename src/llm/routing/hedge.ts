import type { ModelEvent } from '../../core/model.ts';
import { NO_LONGER_NEEDED } from '../../lib/no-longer-needed.ts';
import { Attempt } from './attempt.ts';
import { attemptOn, drain, noteFailure, type Piece, type Tried, type Walk } from './failover-walk.ts';
import type { SlotState } from './slot.ts';

/**
 * Begins a call with `first`. If that is the trial of a model that failed before, a healthy model is asked at
 * the same time, so that the message does not wait for the trial. The healthy one is asked first: what a
 * spending limit has left is reserved for it.
 */
export function begin(first: SlotState, pool: readonly SlotState[], tried: Tried, walk: Walk): Piece {
  const healthy = first.circuit.state === 'half-open' ? pool.find(({ circuit }) => circuit.state === 'closed') : undefined;
  return healthy ? hedge(healthy, first, tried, walk) : attemptOn(first, tried, walk);
}

/** How long a trial that was outrun may take to its first token. ms. */
const TRIAL_MS = 60_000;

/** One of the two calls, with the events it brought before the race was decided. */
interface Runner {
  readonly attempt: Attempt;
  readonly held: ModelEvent[];
  /** The wait it is in; `until` in monotonic ms. */
  waiting: { readonly reason: string; readonly until: number } | undefined;
  /** Asks for the next event; once for each that came. */
  next(): Promise<ModelEvent>;
  /** `used`: its events went to the caller. */
  stop(used: boolean): void;
  /** Another one has won. A trial goes on until it is known whether its model is back. */
  leave(): void;
}

/**
 * Asks two models at once until the first token of either (spec B5). Then the other stream is aborted, closed
 * and not recorded, unless it is a trial. One that fails before is out; the other is waited for. A winner
 * that breaks later is charged for it, and the walk goes on with the rest, the other included.
 */
export async function* hedge(primary: SlotState, alternate: SlotState, tried: Tried, walk: Walk): Piece {
  const runners = [primary, alternate].map((slot) => startRunner(slot, walk));
  let winner: Runner | undefined;
  try {
    winner = yield* race(runners, tried, walk);
    if (!winner) return { slot: primary, streamed: false };
    for (const runner of runners) if (runner !== winner) runner.leave();
    const { slot } = winner.attempt;
    if (slot !== primary) {
      const reason = tried.get(primary)?.kind ?? 'answered first';
      yield { type: 'switched', from: primary.model.id, to: slot.model.id, reason };
    }
    for (const event of winner.held) {
      yield event;
      if (event.type === 'done') return undefined;
    }
    return yield* drain(winner.attempt, tried, walk);
  } finally {
    for (const runner of runners) runner.stop(runner === winner);
  }
}

function startRunner(slot: SlotState, walk: Walk): Runner {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(walk.signal.reason);
  walk.signal.addEventListener('abort', onAbort, { once: true });
  if (walk.signal.aborted) onAbort();
  const attempt = new Attempt(slot, walk.request, { ...walk, signal: controller.signal });
  const { leftovers } = walk;
  let upcoming: Promise<ModelEvent> | undefined;
  let left = false;
  const told = (event: ModelEvent | undefined): void => {
    if (event?.type === 'done') walk.onUnused?.(event.answer);
  };
  const close = async (): Promise<void> => {
    for (const signal of [walk.signal, leftovers.signal]) signal.removeEventListener('abort', onAbort);
    // In this order: a model in the middle of waiting notices the abort, but no call of `return`.
    controller.abort(NO_LONGER_NEEDED);
    await attempt.close();
  };
  const end = (before: Promise<void> | undefined, used = false): void => {
    if (left) return;
    left = true;
    // An answer that came in the same instant.
    if (!before && !used) void upcoming?.then(told);
    leftovers.own(before ? before.then(close) : close());
  };
  return {
    ...{ attempt, held: [], waiting: undefined },
    next() {
      upcoming = attempt.next();
      return upcoming;
    },
    stop: (used) => end(undefined, used),
    leave() {
      leftovers.signal.addEventListener('abort', onAbort, { once: true });
      // A model that does not even end is tried again by a later call.
      const limit = (): Promise<void> => walk.clock.sleep(TRIAL_MS, controller.signal).catch(() => undefined);
      end(attempt.isTrial ? Promise.race([attempt.watch(upcoming).then(told), limit()]) : undefined);
    },
  };
}

/**
 * The runner that brought the first token; undefined when both failed or the signal aborted. Yields a wait
 * only while all that still run are in one: as long as another is at work the call is not held up.
 */
async function* race(runners: readonly Runner[], tried: Tried, walk: Walk): AsyncGenerator<ModelEvent, Runner | undefined> {
  const step = async (runner: Runner) => ({ runner, event: await runner.next() });
  const over = new AbortController();
  const aborted = new Promise<undefined>((resolve) => {
    walk.signal.addEventListener('abort', () => resolve(undefined), { once: true, signal: over.signal });
  });
  const pending = new Map(runners.map((runner) => [runner, step(runner)]));
  try {
    while (pending.size > 0) {
      const first = await Promise.race([aborted, ...pending.values()]);
      if (!first || walk.signal.aborted) return undefined;
      const { runner, event } = first;
      if (event.type === 'failed') {
        noteFailure(runner.attempt.slot, event.failure, tried, walk);
        pending.delete(runner);
      } else {
        runner.waiting = undefined;
        if (event.type === 'waiting') {
          runner.waiting = { reason: event.reason, until: walk.clock.monotonic() + event.waitMs };
        } else runner.held.push(event);
        if (decides(event)) return runner;
        pending.set(runner, step(runner));
      }
      const wait = commonWait([...pending.keys()], walk);
      if (wait) yield wait;
    }
    return undefined;
  } finally {
    over.abort(NO_LONGER_NEEDED);
  }
}

/** How long it takes until the first of them goes on, when all wait. */
function commonWait(runners: readonly Runner[], { clock }: Walk): ModelEvent | undefined {
  const waits = runners.flatMap(({ waiting }) => waiting ?? []);
  const [first] = waits.toSorted((a, b) => a.until - b.until);
  if (!first || waits.length < runners.length) return undefined;
  const waitMs = Math.round(first.until - clock.monotonic());
  return waitMs > 0 ? { type: 'waiting', reason: first.reason, waitMs } : undefined;
}

/** Reasoning is a token too: the model is at work. */
function decides({ type }: ModelEvent): boolean {
  return type === 'text' || type === 'reasoning' || type === 'done';
}
