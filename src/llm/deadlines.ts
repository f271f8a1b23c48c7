import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';

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
/** A sign of life this long after the stream opened shows that the server goes on sending them. ms. */
const REPEATED_MS = 1_000;

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
export function startWatchdog(options: WatchdogOptions): Watchdog {
  return new Watchdog(options);
}

class Watchdog implements Disposable {
  readonly #options: WatchdogOptions;
  readonly #start: number;
  readonly #stopped = new AbortController();
  #idleMs: number;
  #openedAt: number | undefined;
  #signedAt: number;
  #progressAt: number;
  #writing = false;
  #progressed = false;
  #sendsSigns = false;
  #pausedAt: number | undefined;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#start = options.clock.monotonic();
    this.#signedAt = this.#start;
    this.#progressAt = this.#start;
    this.#idleMs = options.timeouts.idleMs ?? IDLE_MS;
    void this.#run();
  }

  /** The server began to answer. */
  opened(): void {
    this.#openedAt = this.#options.clock.monotonic();
    this.#signedAt = this.#openedAt;
    this.#sendsSigns = this.#options.promisesSigns ?? false;
  }

  /** Bytes came. They are no progress: a stream that only stays open meets the limit for thinking (F27). */
  sign(): void {
    const now = this.#options.clock.monotonic();
    this.#signedAt = now;
    if (this.#openedAt !== undefined && now - this.#openedAt >= REPEATED_MS) this.#sendsSigns = true;
  }

  /** Something of the answer arrived. `writing`: more than reasoning, so the model has stopped thinking. */
  progress(writing = true): void {
    this.#progressAt = this.#options.clock.monotonic();
    this.#signedAt = this.#progressAt;
    this.#progressed = true;
    this.#writing ||= writing;
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
    this.#pausedAt = undefined;
  }

  /** From now on wait only this long for the next chunk. */
  shorten(idleMs: number): void {
    this.#idleMs = Math.min(this.#idleMs, idleMs);
  }

  [Symbol.dispose](): void {
    this.#stopped.abort(NO_LONGER_NEEDED);
  }

  async #run(): Promise<void> {
    const { clock, controller } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const now = clock.monotonic();
      const due = this.#due(now);
      if (now >= due.at) return controller.abort(new CallTimeout(due.limit, due.ms));
      // What happens meanwhile may bring the limit nearer.
      await clock.sleep(Math.min(due.at - now, LOOK_MS), signal).catch(() => undefined);
    }
  }

  /** The limit that passes first if nothing more arrives. */
  #due(now: number): { readonly at: number; readonly limit: CallTimeout['limit']; readonly ms: number } {
    const { timeouts } = this.#options;
    const paused = this.#pausedAt === undefined ? 0 : now - this.#pausedAt;
    const silence = this.#silenceMs();
    const limits = [
      { at: this.#start + timeouts.totalMs, limit: 'whole answer', ms: timeouts.totalMs },
      { at: this.#progressAt + paused + silence, limit: this.#progressed ? 'next chunk' : 'first token', ms: silence },
      ...(this.#sendsSigns
        ? [{ at: this.#signedAt + paused + this.#idleMs, limit: 'sign of life', ms: this.#idleMs } as const]
        : []),
    ] as const;
    return limits.reduce((first, other) => (other.at < first.at ? other : first));
  }

  #silenceMs(): number {
    const { timeouts, thinks, inputTokens } = this.#options;
    const thinkingMs = timeouts.thinkingMs ?? THINKING_MS;
    const patient = this.#sendsSigns || (thinks === true && !this.#writing);
    if (this.#progressed) return patient && this.#idleMs >= (timeouts.idleMs ?? IDLE_MS) ? thinkingMs : this.#idleMs;
    const first = (timeouts.firstTokenMs ?? firstTokenLimit)(inputTokens);
    return patient ? Math.max(first, thinkingMs) : first;
  }
}
