import { chatKey } from '../core/ids.ts';
import type { ChatRef } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';

/** Chats that are remembered before those whose time is over are forgotten. */
const SWEEP_ABOVE = 1_024;

/** Keeps the times at which a chat's messages were edited, so that drafts of several threads of one chat share one pace. */
export class Pace {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Monotonic ms until which the chat is left alone. */
  readonly #until = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Ms until the next edit; 0 = now. */
  waitMs(ref: ChatRef): number {
    return Math.max(0, (this.#until.get(chatKey(ref)) ?? 0) - this.#clock.monotonic());
  }

  /** An edit begins now, and for that long no other does. */
  take(ref: ChatRef, ms: number): void {
    const now = this.#clock.monotonic();
    if (this.#until.size > SWEEP_ABOVE) for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key);
    this.#until.set(chatKey(ref), now + ms);
  }
}
