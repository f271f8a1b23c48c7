import type { Clock } from '../../core/ports.ts';
import { NO_LONGER_NEEDED } from '../../lib/no-longer-needed.ts';

/** How long `dispose` waits for a model that does not stop when told to. ms. */
const CLOSE_GRACE_MS = 2_000;

/** Calls whose answer is not needed any more: closing streams, and trials that test if a model is back. */
export class Leftovers implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #running = new Set<Promise<void>>();
  readonly #over = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborts when they have to end. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Takes over a promise that never rejects. */
  own(ending: Promise<void>): void {
    this.#running.add(ending);
    void ending.then(() => this.#running.delete(ending));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(NO_LONGER_NEEDED);
    if (this.#running.size === 0) return;
    const settled = new AbortController();
    // The sleep ends early only because the signal aborted.
    const grace = this.#clock.sleep(CLOSE_GRACE_MS, settled.signal).catch(() => undefined);
    await Promise.race([Promise.all(this.#running), grace]);
    settled.abort(NO_LONGER_NEEDED);
    await grace;
  }
}
