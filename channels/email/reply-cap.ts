import type { InboundMessage } from '../../src/core/message.ts';
import type { Clock } from '../../src/core/ports.ts';

const HOUR_MS = 3_600_000;

export interface ReplyCapOptions {
  readonly perThread: number;
  readonly perSender: number;
  readonly clock: Clock;
}

/**
 * The last guard against a loop (attack A5): a machine that hides that it is one is answered so many times an hour only. Kept in
 * memory; a restart forgives at most one more round. The same mail fetched twice counts once.
 */
export class ReplyCap {
  readonly #options: ReplyCapOptions;
  /** Key of thread or sender -> platformId -> time. */
  readonly #seen = new Map<string, Map<string, number>>();

  constructor(options: ReplyCapOptions) {
    this.#options = options;
  }

  /** False: this mail must not be answered. */
  admit({ chatId, threadId, platformId }: Pick<InboundMessage, 'chatId' | 'threadId' | 'platformId'>): boolean {
    const { perThread, perSender, clock } = this.#options;
    const now = clock.now();
    this.#forget(now);
    const sender = this.#window(JSON.stringify([chatId]));
    const thread = this.#window(JSON.stringify([chatId, threadId ?? '']));
    if (thread.has(platformId)) return true;
    if (sender.size >= perSender || thread.size >= perThread) return false;
    sender.set(platformId, now);
    thread.set(platformId, now);
    return true;
  }

  #window(key: string): Map<string, number> {
    const present = this.#seen.get(key) ?? new Map<string, number>();
    this.#seen.set(key, present);
    return present;
  }

  #forget(now: number): void {
    for (const [key, window] of this.#seen) {
      for (const [id, at] of window) if (now - at >= HOUR_MS) window.delete(id);
      if (window.size === 0) this.#seen.delete(key);
    }
  }
}
