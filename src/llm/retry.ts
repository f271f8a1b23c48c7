import type { FailureKind, Model, ModelEvent, ModelFailure, ModelRequest } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { backoffMs } from '../lib/backoff.ts';
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
  /** 0 <= x < 1. A wait is at least half as long as nominal; one the provider asked for is not shortened. */
  readonly random: () => number;
  /**
   * The longest wait taken; a longer one fails the call at once and says how long. Default `capMs`. A few
   * seconds where another model stands by: it is better to switch than to wait.
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

/** One limiter for all calls of one key, for any model: the 429 of one call holds back the others (F24). */
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

/** What refusals said about a model. Believed for an hour: a wrong one must not cut answers for good. */
interface Learned {
  maxOutputTokens: number;
  /** Monotonic ms. */
  until: number;
}
const LEARNED_MS = 3_600_000;

/**
 * Sends a call again when its failure is retryable (an empty answer excepted), only once after text of it was
 * shown, and once with a lower output limit when the refusal names one. Yields `restart` when the failed
 * attempt had streamed anything, and `waiting` before a wait of 10 s or more. A wait longer than `maxWaitMs`
 * is not waited: the call fails at once and says how long. Calls through one gate share the provider's
 * Retry-After, so give all models of one key the same.
 */
export function withRetry(model: Model, options: RetryOptions): Model {
  const gate = options.gate ?? createRetryGate();
  const learned: Learned = { maxOutputTokens: 0, until: Number.NEGATIVE_INFINITY };
  return {
    ...model,
    call: (request, signal) => callWithRetry(model, options, { gate, learned }, request, signal),
  };
}

async function* callWithRetry(
  model: Model,
  options: RetryOptions,
  { gate, learned }: { gate: RetryGate; learned: Learned },
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const { maxRetries = 3, capMs = 60_000, maxWaitMs = capMs, clock } = options;
  let sent = clock.monotonic() < learned.until ? withOutputLimit(request, learned.maxOutputTokens) : request;
  let lowered = false;
  let shown: FailureKind | undefined;
  for (let attempt = 0; ; attempt += 1) {
    const closed = yield* passGate(model, options, gate, signal);
    if (closed) return yield { type: 'failed', failure: closed };
    const ended = yield* oneAttempt(model, sent, signal, shown);
    if (!ended) return;
    const { failure } = ended;
    if (signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
    closeGate(gate, failure, clock, capMs);
    const most = lowered || ended.streamed ? undefined : failure.maxOutputTokens;
    if (most !== undefined && most < (sent.maxOutputTokens ?? Infinity)) {
      // What an account can pay for changes; what a model can write does not.
      if (failure.kind === 'bad-request')
        Object.assign(learned, { maxOutputTokens: most, until: clock.monotonic() + LEARNED_MS });
      lowered = true;
      sent = withOutputLimit(sent, most);
      options.onRetry?.({ model: model.id, failure, attempt: attempt + 1, waitMs: 0 });
      continue;
    }
    if (!isOurs(failure) || attempt >= maxRetries || shown) return yield { type: 'failed', failure };
    const waitMs = waitFor(failure, attempt, options);
    if (waitMs > maxWaitMs) return yield { type: 'failed', failure: tooLong(failure, waitMs) };
    if (ended.shown) shown = failure.kind;
    else if (ended.streamed) yield { type: 'restart', reason: failure.kind };
    options.onRetry?.({ model: model.id, failure, attempt: attempt + 1, waitMs });
    if (waitMs >= TELL_FROM_MS) yield { type: 'waiting', reason: failure.kind, waitMs };
    if (!(await slept(clock, waitMs, signal))) return yield { type: 'failed', failure: abortedFailure() };
  }
}

function withOutputLimit(request: ModelRequest, most: number): ModelRequest {
  return { ...request, maxOutputTokens: Math.min(most, request.maxOutputTokens ?? most) };
}

/** The agent asks again for an empty answer and records each try (spec C4). Both would pay for 16 calls. */
function isOurs({ retryable, kind }: ModelFailure): boolean {
  return retryable && kind !== 'empty';
}

interface Ended {
  readonly failure: ModelFailure;
  readonly streamed: boolean;
  /** Text was among it, which people read. */
  readonly shown: boolean;
}

/**
 * Passes everything on but the failure, which it returns. `takesBack`: people have seen text of the try
 * before, which failed for this reason. It is taken back when the whole new answer is there, so that this
 * happens once for each model.
 */
async function* oneAttempt(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  takesBack: FailureKind | undefined,
): AsyncGenerator<ModelEvent, Ended | undefined> {
  let streamed = false;
  let shown = false;
  const held: ModelEvent[] = [];
  for await (const event of model.call(request, signal)) {
    if (event.type === 'failed') return { failure: event.failure, streamed, shown };
    streamed ||= event.type === 'text' || event.type === 'reasoning';
    shown ||= event.type === 'text';
    if (takesBack === undefined) yield event;
    else held.push(event);
    if (event.type !== 'done') continue;
    if (takesBack !== undefined) yield { type: 'restart', reason: takesBack };
    yield* held;
    return undefined;
  }
  return { failure: createFailure('malformed', { message: `${model.id} ended without an answer` }), streamed, shown };
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
  // At most one cap ahead: after "an hour" it is asked each minute, as its limit may be lifted earlier.
  gate.openAt = Math.max(gate.openAt, clock.monotonic() + Math.min(failure.retryAfterMs, capMs));
  gate.failure = failure;
}

/** A person who is told to come back later is told when, also when the provider named no time. */
function tooLong(failure: ModelFailure, waitMs: number): ModelFailure {
  return failure.kind === 'rate-limit' ? { ...failure, retryAfterMs: waitMs } : failure;
}

/** Ms until a failed try is repeated; `attempt`: 0 after the first. */
export function waitFor(
  failure: ModelFailure,
  attempt: number,
  options: Pick<RetryOptions, 'baseMs' | 'capMs' | 'random'>,
): number {
  const { baseMs = 1_000, capMs = 60_000, random } = options;
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
  if (failure.kind === 'rate-limit') return UNSTATED_RATE_LIMIT_MS;
  return backoffMs(attempt, { baseMs, capMs, random });
}

async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch {
    return false; // the sleep ends early only because the signal aborted
  }
}
