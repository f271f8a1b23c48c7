import type { Clock } from '../core/ports.ts';

/** Windows that refusals have told are believed so long. */
const BELIEVED_MS = 3_600_000;

/**
 * What runs learnt of the windows of models, for all chats. It is forgotten every hour: one refusal that was
 * wrong, or provoked by a strange message, must not shorten the prompts for good.
 */
export class LearntWindows {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #windows = new Map<string, number>();
  #since = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** In tokens, by model id. Read and written by the run that asks. */
  current(): Map<string, number> {
    const now = this.#clock.monotonic();
    if (now - this.#since >= BELIEVED_MS) {
      this.#windows.clear();
      this.#since = now;
    }
    return this.#windows;
  }
}
