import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';

/** Time limits of one call, in ms. */
export interface ModelTimeouts {
  /** TCP and TLS connect. Default of the config: 10 s. */
  readonly connectMs: number;
  /** Whole call, whatever arrives. Default of the config: 300 s. */
  readonly totalMs: number;
  /** Until the first progress; default B7: min(30 + inputTokens / 1000, 180) s. */
  readonly firstTokenMs?: (inputTokens: number) => number;
  /** Between two chunks that bring something; default B7: 30 s. */
  readonly idleMs?: number;
}

const IDLE_MS = 30_000;

/** Spec B7. */
function firstTokenLimit(inputTokens: number): number {
  return Math.min(30_000 + inputTokens, 180_000);
}

export class CallTimeout extends Error {
  readonly limit: 'first token' | 'next chunk' | 'whole answer';
  readonly ms: number;

  constructor(limit: CallTimeout['limit'], ms: number) {
    super(`no ${limit} within ${ms} ms`);
    this.name = 'CallTimeout';
    this.limit = limit;
    this.ms = ms;
  }
}

export interface Watchdog extends Disposable {
  /** Something of the answer arrived. Keep-alive bytes are not progress: a half-open stream must end (F27). */
  progress(): void;
  /** Only silence of the provider counts: the time a consumer takes for an event does not. */
  pause(): void;
  resume(): void;
  /** From now on wait only this long for the next chunk. */
  shorten(idleMs: number): void;
}

/** Aborts `controller` with a `CallTimeout` when a limit passes. One sleeper per call, however many chunks arrive. */
export function startWatchdog(options: {
  clock: Clock;
  controller: AbortController;
  timeouts: ModelTimeouts;
  inputTokens: number;
}): Watchdog {
  const { clock, controller, timeouts } = options;
  const firstMs = (timeouts.firstTokenMs ?? firstTokenLimit)(options.inputTokens);
  const start = clock.monotonic();
  let stopped = false;
  let wake = new AbortController();
  let idleMs = timeouts.idleMs ?? IDLE_MS;
  let since = start;
  let progressed = false;
  let pausedAt: number | undefined;

  const watch = async (): Promise<void> => {
    while (!stopped) {
      const now = clock.monotonic();
      const total = start + timeouts.totalMs;
      if (now >= total) return controller.abort(new CallTimeout('whole answer', timeouts.totalMs));
      const limit = progressed ? idleMs : firstMs;
      const due = (pausedAt === undefined ? since : now) + limit;
      if (now >= due) return controller.abort(new CallTimeout(progressed ? 'next chunk' : 'first token', limit));
      try {
        await clock.sleep(Math.min(due, total) - now, wake.signal);
      } catch {
        wake = new AbortController(); // the only cause is our own signal: stop, or look again
      }
    }
  };
  void watch();

  return {
    progress() {
      since = clock.monotonic();
      if (progressed) return;
      progressed = true;
      wake.abort(NO_LONGER_NEEDED); // the sleeper counts on the limit of the first token, which is longer
    },
    pause() {
      pausedAt ??= clock.monotonic();
    },
    resume() {
      if (pausedAt !== undefined) since += clock.monotonic() - pausedAt;
      pausedAt = undefined;
    },
    shorten(ms) {
      if (ms >= idleMs) return;
      idleMs = ms;
      wake.abort(NO_LONGER_NEEDED);
    },
    [Symbol.dispose]() {
      stopped = true;
      wake.abort(NO_LONGER_NEEDED);
    },
  };
}
