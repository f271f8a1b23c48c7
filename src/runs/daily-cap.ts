import type { NotWritten } from '../core/messages.ts';
import type { Outbox } from '../core/outbox.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';

const DAY_MS = 86_400_000;
/** To one person on the wish of others, of all that ask (decisions.md). */
const MOST_A_DAY = 20;

/**
 * Counts what one person is written on the wish of others by the rows of the outbox: a restart forgets none.
 * One at a time, so that calls that run at once do not count the same place twice.
 */
export class DailyCap {
  readonly #journal: Pick<Outbox, 'sentFor'>;
  readonly #clock: { now(): number };
  readonly #mutex = new KeyedMutex();
  readonly #linked: (reader: string) => readonly string[];

  /**
   * `linked`: readers who are one person share what they may get. Asked at each use; default: each is one.
   */
  constructor(
    journal: Pick<Outbox, 'sentFor'>,
    clock: { now(): number },
    linked: (reader: string) => readonly string[] = (reader) => [reader],
  ) {
    this.#journal = journal;
    this.#clock = clock;
    this.#linked = linked;
  }

  /** Writes, unless one of these readers, as `SentFor` names them, has had 20 messages within 24 hours. */
  within<T>(readers: readonly string[], write: () => Promise<T>): Promise<T | NotWritten> {
    return this.#mutex.runExclusive('', async () => {
      for (const reader of readers) {
        let sent = 0;
        for (const one of this.#linked(reader)) sent += await this.#journal.sentFor(one, this.#clock.now() - DAY_MS);
        if (sent >= MOST_A_DAY) return full(reader);
      }
      return await write();
    });
  }
}

function full(reader: string): NotWritten {
  return { kind: 'refused', reason: `${reader} has had ${MOST_A_DAY} messages within 24 hours, and gets no more until later` };
}
