import type { Model, ModelEvent, ModelFailure, ModelRequest } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { abortedFailure, createFailure } from './failure.ts';

export interface RetryInfo {
  readonly model: string;
  readonly failure: ModelFailure;
  /** 1 = the first retry; 0 = this call has not been sent yet and waits for another call's Retry-After. */
  readonly attempt: number;
  readonly waitMs: number;
}

export interface RetryOptions {
  /** Calls after the first one. Default 3 (spec B3). */
  readonly maxRetries?: number;
  /** First wait, doubled each time up to the cap. Defaults 1 s and 60 s (spec B3). */
  readonly baseMs?: number;
  readonly capMs?: number;
  readonly clock: Clock;
  /** 0 <= x < 1. Each wait is at least half of its nominal length; a wait the provider asked for is never shortened. */
  readonly random: () => number;
  /**
   * The longest wait taken; a longer one fails the call at once and says how long. Default `capMs`. A few seconds where another
   * model stands by: better to switch than to wait.
   */
  readonly maxWaitMs?: number;
  /** Shared by all wrappers of one key. Default: one of its own. */
  readonly gate?: RetryGate;
  /** Told before each wait; must not throw. */
  readonly onRetry?: (info: RetryInfo) => void;
}

/** Spec B3: the wait after a 429 that does not say how long. */
const UNSTATED_RATE_LIMIT_MS = 30_000;

/** A shorter wait is not worth an event: people take it for thinking. */
export const TELL_FROM_MS = 10_000;

/** One limiter for all calls of one key, whichever model they ask: a 429 seen by one call holds back the others (F24). */
export interface RetryGate {
  /** Monotonic ms. */
  openAt: number;
  /** What closed it. */
  failure: ModelFailure | undefined;
}

/** An open gate. One per key of a provider. */
export function createRetryGate(): RetryGate {
  return { openAt: Number.NEGATIVE_INFINITY, failure: undefined };
}

/**
 * Sends a call again when its failure is retryable (an empty answer excepted). Yields `restart` when the failed attempt had
 * streamed anything, and `waiting` before a wait of 10 s or more. A wait longer than `maxWaitMs` is not waited: the call fails
 * at once and says how long. Calls through one gate share the provider's Retry-After, so give all models of one key the same.
 */
export function withRetry(model: Model, options: RetryOptions): Model {
  const gate = options.gate ?? createRetryGate();
  return {
    id: model.id,
    contextWindow: model.contextWindow,
    ...(model.facts ? { facts: model.facts } : {}),
    ...(model.demo === undefined ? {} : { demo: model.demo }),
    call: (request, signal) => callWithRetry(model, options, gate, request, signal),
  };
}

async function* callWithRetry(
  model: Model,
  options: RetryOptions,
  gate: RetryGate,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const { maxRetries = 3, capMs = 60_000, maxWaitMs = capMs, clock } = options;
  for (let attempt = 0; ; attempt += 1) {
    const closed = yield* passGate(model, options, gate, signal);
    if (closed) return yield { type: 'failed', failure: closed };
    const failure = yield* oneAttempt(model, request, signal);
    if (!failure) return;
    closeGate(gate, failure.failure, clock, capMs);
    if (signal.aborted || !isOurs(failure.failure) || attempt >= maxRetries) {
      return yield { type: 'failed', failure: signal.aborted ? abortedFailure() : failure.failure };
    }
    const waitMs = waitFor(failure.failure, attempt, options);
    if (waitMs > maxWaitMs) return yield { type: 'failed', failure: tooLong(failure.failure, waitMs) };
    if (failure.streamed) yield { type: 'restart', reason: failure.failure.kind };
    options.onRetry?.({ model: model.id, failure: failure.failure, attempt: attempt + 1, waitMs });
    if (waitMs >= TELL_FROM_MS) yield { type: 'waiting', reason: failure.failure.kind, waitMs };
    if (!(await slept(clock, waitMs, signal))) return yield { type: 'failed', failure: abortedFailure() };
  }
}

/** An empty answer is asked for again by the agent, which records each try (spec C4): both together would make 16 paid calls. */
function isOurs({ retryable, kind }: ModelFailure): boolean {
  return retryable && kind !== 'empty';
}

/** Passes everything on but the failure, which it returns. */
async function* oneAttempt(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, { failure: ModelFailure; streamed: boolean } | undefined> {
  let streamed = false;
  for await (const event of model.call(request, signal)) {
    if (event.type === 'failed') return { failure: event.failure, streamed };
    streamed ||= event.type === 'text' || event.type === 'reasoning';
    yield event;
    if (event.type === 'done') return undefined;
  }
  return { failure: createFailure('malformed', { message: `${model.id} ended without an answer` }), streamed };
}

/** Waits for a Retry-After that another call was told. A failure when that takes too long, or on abort. */
async function* passGate(
  model: Model,
  options: RetryOptions,
  gate: RetryGate,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, ModelFailure | undefined> {
  const { clock, capMs = 60_000, maxWaitMs = capMs, random } = options;
  for (;;) {
    const left = gate.openAt - clock.monotonic();
    if (left <= 0 || !gate.failure) return undefined;
    if (left > maxWaitMs) return { ...gate.failure, retryAfterMs: left };
    // Spread out, or all that waited would arrive at once.
    const waitMs = left + Math.round(random() * Math.min(1_000, left / 10));
    options.onRetry?.({ model: model.id, failure: gate.failure, attempt: 0, waitMs });
    if (waitMs >= TELL_FROM_MS) yield { type: 'waiting', reason: gate.failure.kind, waitMs };
    if (!(await slept(clock, waitMs, signal))) return abortedFailure();
  }
}

function closeGate(gate: RetryGate, failure: ModelFailure, clock: Clock, capMs: number): void {
  if (failure.kind !== 'rate-limit' || failure.retryAfterMs === undefined) return;
  // At most one cap ahead: a provider that says "an hour" is asked again each minute, should its limit be lifted earlier.
  gate.openAt = Math.max(gate.openAt, clock.monotonic() + Math.min(failure.retryAfterMs, capMs));
  gate.failure = failure;
}

/** Who is told to come back later wants to know when, also where the provider left it to us. */
function tooLong(failure: ModelFailure, waitMs: number): ModelFailure {
  return failure.kind === 'rate-limit' ? { ...failure, retryAfterMs: waitMs } : failure;
}

function waitFor(failure: ModelFailure, attempt: number, options: RetryOptions): number {
  const { baseMs = 1_000, capMs = 60_000, random } = options;
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
  if (failure.kind === 'rate-limit') return UNSTATED_RATE_LIMIT_MS;
  const ceiling = Math.min(capMs, baseMs * 2 ** attempt);
  return Math.round(ceiling / 2 + random() * (ceiling / 2));
}

async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch {
    return false; // the sleep ends early only because the signal aborted
  }
}
