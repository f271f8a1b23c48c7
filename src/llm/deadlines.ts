import type { Clock } from '../core/ports.ts';
import { startTimer } from '../lib/timer.ts';

/** Time limits of one call, in ms. */
export interface ModelTimeouts {
  /** TCP and TLS connect. Default of the config: 10 s. */
  readonly connectMs: number;
  /** Whole call, whatever arrives. Default of the config: 300 s. */
  readonly totalMs: number;
  /** Until the first progress of a model that does not think. Default: `firstTokenLimit`. */
  readonly firstTokenMs?: (inputTokens: number) => number;
  /** Between two chunks that bring something, or two signs of life where there are any. Default 30 s. */
  readonly idleMs?: number;
  /** How long a model may think without a word. Default of the config: 300 s. */
  readonly thinkingMs?: number;
}

const IDLE_MS = 30_000;
const THINKING_MS = 300_000;
/** Bytes that come sooner after what was counted may be the rest of it. ms. */
const APART_MS = 1_000;
/** So many signs of life show that a server goes on sending them. */
const SIGNS = 2;

/** Spec B7. */
function firstTokenLimit(inputTokens: number): number {
  return Math.min(30_000 + inputTokens, 180_000);
}

export class CallTimeout extends Error {
  readonly limit: 'first token' | 'next chunk' | 'sign of life' | 'whole answer';
  readonly ms: number;

  constructor(limit: CallTimeout['limit'], ms: number) {
    super(`no ${limit} within ${ms} ms`);
    this.name = 'CallTimeout';
    this.limit = limit;
    this.ms = ms;
  }
}

export interface WatchdogOptions {
  readonly clock: Clock;
  readonly controller: AbortController;
  readonly timeouts: ModelTimeouts;
  readonly inputTokens: number;
  /** The model may think before it writes, and its provider need not send anything meanwhile. */
  readonly thinks?: boolean;
  /** The wire promises signs of life, so silence means a broken line; other wires show it by sending them. */
  readonly promisesSigns?: boolean;
}

/** Longest sleep of a watchdog: a limit is noticed at most this much late. */
const LOOK_MS = 1_000;

/** Aborts `controller` with a `CallTimeout` when a limit passes. One sleeper per call, not one per chunk. */
export class Watchdog implements Disposable {
  readonly #options: WatchdogOptions;
  readonly #start: number;
  #stop: (() => void) | undefined;
  #idleMs: number;
  #signs = 0;
  #signedAt: number;
  #countedAt = 0;
  /** What was counted last may be the start of an event that brings something. */
  #doubted = false;
  #progressAt: number;
  #thinking: boolean;
  #progressed = false;
  #pausedAt: number | undefined;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#start = options.clock.monotonic();
    this.#signedAt = this.#start;
    this.#progressAt = this.#start;
    this.#thinking = options.thinks ?? false;
    this.#idleMs = options.timeouts.idleMs ?? IDLE_MS;
    this.#look();
  }

  /** The server began to answer. */
  opened(): void {
    this.#signedAt = this.#countedAt = this.#options.clock.monotonic();
    if (this.#options.promisesSigns) this.#signs = SIGNS;
  }

  /**
   * Bytes came. Unless `progress` follows they are a sign of life, and no more: a stream that only stays open
   * meets the limit for thinking (F27).
   */
  sign(): void {
    this.#signedAt = this.#options.clock.monotonic();
    if (this.#signedAt - this.#countedAt < APART_MS) return;
    this.#countedAt = this.#signedAt;
    this.#signs += 1;
    this.#doubted = true;
  }

  /** Something of the answer arrived. `writing`: more than reasoning, so the model does not think now. */
  progress(writing = true): void {
    this.#signedAt = this.#countedAt = this.#progressAt = this.#options.clock.monotonic();
    if (this.#doubted) this.#signs -= 1;
    this.#doubted = false;
    this.#progressed = true;
    this.#thinking = !writing;
  }

  /** Only silence of the provider counts: the time that a consumer takes for an event does not. */
  pause(): void {
    this.#pausedAt ??= this.#options.clock.monotonic();
  }

  resume(): void {
    if (this.#pausedAt === undefined) return;
    const took = this.#options.clock.monotonic() - this.#pausedAt;
    this.#progressAt += took;
    this.#signedAt += took;
    this.#countedAt += took;
    this.#pausedAt = undefined;
  }

  /** From now on wait only this long for the next chunk. */
  shorten(idleMs: number): void {
    this.#idleMs = Math.min(this.#idleMs, idleMs);
  }

  [Symbol.dispose](): void {
    this.#stop?.();
  }

  #look(): void {
    const { clock, controller } = this.#options;
    const now = clock.monotonic();
    const due = this.#due(now);
    if (now >= due.at) controller.abort(new CallTimeout(due.limit, due.ms));
    // What happens meanwhile may bring the limit nearer.
    else this.#stop = startTimer(clock, Math.min(due.at - now, LOOK_MS), () => this.#look());
  }

  /** The limit that passes first if nothing more arrives. */
  #due(now: number): { readonly at: number; readonly limit: CallTimeout['limit']; readonly ms: number } {
    const { timeouts, inputTokens } = this.#options;
    const { idleMs = IDLE_MS, thinkingMs = THINKING_MS, firstTokenMs = firstTokenLimit } = timeouts;
    const paused = this.#pausedAt === undefined ? 0 : now - this.#pausedAt;
    const sendsSigns = this.#signs >= SIGNS;
    const patient = (sendsSigns || this.#thinking) && this.#idleMs >= idleMs;
    const usual = this.#progressed ? this.#idleMs : firstTokenMs(inputTokens);
    const silence = !patient ? usual : this.#progressed ? thinkingMs : Math.max(usual, thinkingMs);
    const limits = [
      { at: this.#start + timeouts.totalMs, limit: 'whole answer', ms: timeouts.totalMs },
      { at: this.#progressAt + paused + silence, limit: this.#progressed ? 'next chunk' : 'first token', ms: silence },
      ...(sendsSigns ? [{ at: this.#signedAt + paused + this.#idleMs, limit: 'sign of life', ms: this.#idleMs } as const] : []),
    ] as const;
    return limits.reduce((first, other) => (other.at < first.at ? other : first));
  }
}
