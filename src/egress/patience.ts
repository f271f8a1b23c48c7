import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';

/** Time limits on the stages of one request, one stage after the other, and on all of it. */
export class Patience implements Disposable {
  readonly #clock: Clock;
  readonly #expired: (reason: Error) => void;
  #stage = new AbortController();
  readonly #all = new AbortController();

  /** `expired` is told the reason of the limit that ran out. */
  constructor(clock: Clock, expired: (reason: Error) => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  overall(ms: number): void {
    this.#after(ms, `it took longer than ${Math.round(ms / 1_000)} s`, this.#all.signal);
  }

  /** Ends the limit of the stage before. */
  stage(ms: number, reason: string): void {
    this.#stage.abort(NO_LONGER_NEEDED);
    this.#stage = new AbortController();
    this.#after(ms, reason, this.#stage.signal);
  }

  #after(ms: number, reason: string, over: AbortSignal): void {
    this.#clock.sleep(ms, over).then(
      () => this.#expired(new Error(reason)),
      () => undefined, // it was quick enough
    );
  }

  [Symbol.dispose](): void {
    this.#stage.abort(NO_LONGER_NEEDED);
    this.#all.abort(NO_LONGER_NEEDED);
  }
}
