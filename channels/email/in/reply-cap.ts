import type { InboundMessage } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';

const HOUR_MS = 3_600_000;

export interface ReplyCapOptions {
  readonly perThread: number;
  readonly perSender: number;
  readonly clock: Clock;
}

/**
 * A machine answers within seconds; a person first reads. It counts both ways, since the clock of the mail
 * server is another one.
 */
const PROMPT_MS = 20_000;

type Place = Pick<InboundMessage, 'chatId' | 'threadId'>;

/**
 * The last guard against a loop (attack A5): a machine that hides that it is one is answered only so many
 * times an hour. In a thread only mail counts that came right after an answer, so that a person who writes
 * much is not left without one; of a sender all mail counts. The hour is that in which the mail server
 * received it, so that what waited during an outage is not taken for a loop. Kept in memory; a restart
 * forgives at most one more round. The same mail fetched twice counts once.
 */
export class ReplyCap {
  readonly #options: ReplyCapOptions;
  /** Key of thread or sender -> platformId -> when the mail server received it. */
  readonly #seen = new Map<string, Map<string, number>>();
  /** Key of thread -> when the last answer in it left. */
  readonly #answered = new Map<string, number>();

  constructor(options: ReplyCapOptions) {
    this.#options = options;
  }

  /** An answer left. */
  answered(place: Place): void {
    this.#answered.set(threadKey(place), this.#options.clock.now());
  }

  /** False: this mail must not be answered. `timestamp`: when the server received it, 0 = it told none. */
  admit({ platformId, timestamp: told, ...place }: Place & Pick<InboundMessage, 'platformId' | 'timestamp'>): boolean {
    const { perThread, perSender, clock } = this.#options;
    const timestamp = told > 0 ? told : clock.now();
    this.#forget(timestamp, clock.now());
    const sender = this.#window(JSON.stringify([place.chatId]));
    if (sender.has(platformId)) return true;
    const thread = this.#window(threadKey(place));
    if (count(sender, timestamp) >= perSender || count(thread, timestamp) >= perThread) return false;
    sender.set(platformId, timestamp);
    const answer = this.#answered.get(threadKey(place));
    if (answer !== undefined && Math.abs(timestamp - answer) <= PROMPT_MS) thread.set(platformId, timestamp);
    return true;
  }

  #window(key: string): Map<string, number> {
    const present = this.#seen.get(key) ?? new Map<string, number>();
    this.#seen.set(key, present);
    return present;
  }

  /** Twice the window: mail comes in the order in which it was received only within one fetch. */
  #forget(received: number, now: number): void {
    for (const [key, window] of this.#seen) {
      for (const [id, at] of window) if (received - at >= 2 * HOUR_MS) window.delete(id);
      if (window.size === 0) this.#seen.delete(key);
    }
    for (const [key, at] of this.#answered) if (Math.abs(now - at) >= HOUR_MS) this.#answered.delete(key);
  }
}

/** Mail received within an hour of `timestamp`. */
function count(window: ReadonlyMap<string, number>, timestamp: number): number {
  let found = 0;
  for (const at of window.values()) if (Math.abs(timestamp - at) < HOUR_MS) found += 1;
  return found;
}

function threadKey({ chatId, threadId }: Place): string {
  return JSON.stringify([chatId, threadId ?? '']);
}
