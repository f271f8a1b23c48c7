import type { RunEvent } from '../core/events.ts';
import type { HoldStatus, ModelHealth } from '../core/status.ts';

/** Shorter waits are over before a person has read of them. ms. */
export const LONG_WAIT_MS = 5_000;
/** Kept at once: of each channel one, and of the models one. */
const MODEL = 'model';

/**
 * How the model calls went lately, and what waits because a provider or a platform asked for it: from the
 * events of this process. What holds is known until its time is over, or until something went through.
 */
export class RecentHealth {
  #failures: Omit<ModelHealth, 'lastAnswerAt'> | undefined;
  #lastAnswerAt: number | undefined;
  readonly #holds = new Map<string, HoldStatus>();
  readonly #redact: (text: string) => string;

  /** `redact` takes secrets out. */
  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  observe(event: RunEvent): void {
    if (event.type === 'model.done') {
      this.#failures = undefined;
      this.#lastAnswerAt = event.at;
      this.#holds.delete(MODEL);
    }
    if (event.type === 'model.failed' && event.kind !== 'aborted') this.#failed(event);
    if (event.type === 'model.waiting') this.#hold(MODEL, event.reason, event);
    if (event.type === 'part.retry') this.#hold(event.channel ?? '', event.reason, event);
    if (event.type === 'part.sent') this.#holds.delete(event.channel ?? '');
  }

  /** Undefined = no call since the start. */
  model(): ModelHealth | undefined {
    const answered = this.#lastAnswerAt === undefined ? {} : { lastAnswerAt: this.#lastAnswerAt };
    if (this.#failures) return { ...this.#failures, ...answered };
    return this.#lastAnswerAt === undefined ? undefined : { failedInARow: 0, ...answered };
  }

  holds(now: number): readonly HoldStatus[] {
    return [...this.#holds.values()].filter(({ until }) => until > now);
  }

  #failed({ at, model, code, kind, detail, hint }: Extract<RunEvent, { type: 'model.failed' }>): void {
    const { failedInARow = 0, since = at } = this.#failures ?? {};
    this.#failures = {
      failedInARow: failedInARow + 1,
      since,
      last: { model, code, kind, detail: this.#redact(detail).slice(0, 300), ...(hint === undefined ? {} : { hint }) },
    };
  }

  #hold(what: string, reason: string, { at, waitMs }: { readonly at: number; readonly waitMs: number }): void {
    if (waitMs < LONG_WAIT_MS) return;
    this.#holds.set(what, { what, reason: this.#redact(reason).slice(0, 300), until: at + waitMs });
  }
}
