import { chatKey } from '../core/ids.ts';
import type { ChatRef } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';

/** Chats that are remembered before those whose time is over are forgotten. */
const SWEEP_ABOVE = 1_024;

/**
 * Spaces the edits in a chat. Drafts of several threads of one chat take turns, so none keeps the others from
 * being shown.
 */
export class Pace {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Monotonic ms at which the next turn may begin. */
  readonly #next = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Takes the next turn in the chat, behind those that were taken before; the one after it begins `ms` later.
   * Says how long to wait for it, ms.
   */
  take(ref: ChatRef, ms: number): number {
    const now = this.#clock.monotonic();
    if (this.#next.size > SWEEP_ABOVE) for (const [key, next] of this.#next) if (next <= now) this.#next.delete(key);
    const turn = Math.max(now, this.#next.get(chatKey(ref)) ?? now);
    this.#next.set(chatKey(ref), turn + ms);
    return turn - now;
  }

  /** A turn took longer than it should: the next one begins `ms` from now at the earliest. */
  delay(ref: ChatRef, ms: number): void {
    const next = this.#clock.monotonic() + ms;
    this.#next.set(chatKey(ref), Math.max(next, this.#next.get(chatKey(ref)) ?? next));
  }
}
