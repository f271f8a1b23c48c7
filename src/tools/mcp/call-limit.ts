import type { Clock } from '../../core/ports.ts';
import { startTimer } from '../../lib/timer.ts';

/** A call that reports progress may last so many times its limit. */
const PROGRESS_FACTOR = 10;

/** How long a call may last; the time in which a person is asked does not count. */
export class CallLimit implements Disposable {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #over: (reason: Error) => void;
  /** Of the longest time, without pauses. */
  #leftMs: number;
  #since = 0;
  #pauses = 0;
  #stopIdle: () => void = () => undefined;
  #stopAll: () => void = () => undefined;

  /** `over` is called once, with how long it waited for. */
  constructor(clock: Clock, timeoutMs: number, over: (reason: Error) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#over = over;
    this.#leftMs = timeoutMs * PROGRESS_FACTOR;
    this.#start();
  }

  /** The server is at work: it has the whole time again, up to the longest. */
  progress(): void {
    if (this.#pauses > 0) return;
    this.#stopIdle();
    this.#stopIdle = startTimer(this.#clock, this.#timeoutMs, this.#ended(this.#timeoutMs));
  }

  /** Until the result is disposed of, no time passes. */
  pause(): Disposable {
    if (this.#pauses === 0) this.#stop();
    this.#pauses += 1;
    return {
      [Symbol.dispose]: () => {
        this.#pauses -= 1;
        if (this.#pauses === 0) this.#start();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#pauses = Number.POSITIVE_INFINITY;
    this.#stop();
  }

  #start(): void {
    this.#since = this.#clock.monotonic();
    this.#stopAll = startTimer(this.#clock, this.#leftMs, this.#ended(this.#timeoutMs * PROGRESS_FACTOR));
    this.progress();
  }

  #stop(): void {
    this.#stopIdle();
    this.#stopAll();
    this.#leftMs = Math.max(0, this.#leftMs - (this.#clock.monotonic() - this.#since));
  }

  #ended(ms: number): () => void {
    return () => this.#over(new Error(`no answer within ${Math.round(ms / 1_000)} s`));
  }
}
