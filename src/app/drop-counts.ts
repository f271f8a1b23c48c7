import type { RunEvent } from '../core/events.ts';

/** Drops of one channel for one reason have one line in this time, and a second one that counts them. */
const WINDOW_MS = 60_000;

interface Window {
  readonly since: number;
  readonly channel: string | undefined;
  readonly reason: string;
  /** Beyond the first. */
  more: number;
}

/**
 * How many more messages of a channel were dropped for this reason since the line about the first of them.
 */
export interface MoreDropped {
  readonly channel: string | undefined;
  readonly reason: string;
  readonly count: number;
}

/**
 * Counts dropped messages, so that strangers cannot fill the log: the first of a channel and reason within a
 * minute has a line of its own. Each drop is in the record, where `gatehouse logs` and `why` find it.
 */
export class DropCounts {
  readonly #windows = new Map<string, Window>();

  /** Whether this drop has a line of its own. */
  isFirst({ at, channel, reason }: Extract<RunEvent, { type: 'dropped' }>): boolean {
    const key = JSON.stringify([channel, reason]);
    const window = this.#windows.get(key);
    if (window) window.more += 1;
    else this.#windows.set(key, { since: at, channel, reason, more: 0 });
    return window === undefined;
  }

  /**
   * Ends the windows that are over at this time, and tells what they counted. To be called with each event.
   */
  over(at: number): readonly MoreDropped[] {
    const told: MoreDropped[] = [];
    for (const [key, { since, channel, reason, more }] of this.#windows) {
      // The clock may be set back.
      if (Math.abs(at - since) < WINDOW_MS) continue;
      this.#windows.delete(key);
      if (more > 0) told.push({ channel, reason, count: more });
    }
    return told;
  }
}
