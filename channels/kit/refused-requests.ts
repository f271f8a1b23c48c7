import type { Clock, Logger } from '../../src/core/ports.ts';

/** The operator is told of refused requests at most this often: who knows the address could fill the log. */
const TELL_EVERY_MS = 60_000;

/**
 * Logs requests that were refused before anything of them was believed: the first at once, then how many,
 * with the last reason.
 */
export class RefusedRequests {
  readonly #options: { readonly event: string; readonly clock: Clock; readonly logger: Logger };
  #count = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: { readonly event: string; readonly clock: Clock; readonly logger: Logger }) {
    this.#options = options;
  }

  /** `data` is logged beside the reason and holds nothing of the request. */
  note(reason: string, data: Readonly<Record<string, string>> = {}): void {
    const { event, clock, logger } = this.#options;
    this.#count += 1;
    const now = clock.monotonic();
    if (now - this.#toldAt < TELL_EVERY_MS) return;
    logger.warn(event, { reason, count: this.#count, ...data });
    this.#toldAt = now;
    this.#count = 0;
  }
}
