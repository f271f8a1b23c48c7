import type { InboundMessage } from '../../../src/core/message.ts';
import { settledOrAborted } from '../../../src/lib/time-limit.ts';
import { InboundLine } from '../../kit/inbound-line.ts';
import { RecentMap } from '../../kit/recent.ts';
import { type StoringOptions, storeMessages } from '../../kit/store-messages.ts';
import { answeredIn, formatCursor, type ListCursor, parseCursor } from './cursor.ts';

/** Longer than the list is looked at again. */
const REMEMBER_MS = 60 * 60_000;
/** Webhooks that wait, answered with 503 or not yet; what is beyond comes with the list. */
const MAX_WAITING = 200;
/** Messages that the platform says it answered, of the time that the list is looked at again. */
const MAX_ANSWERED = 100;

/** Webhooks and the list meet here: one offer at a time, in order of arrival. */
export class Intake {
  readonly #options: StoringOptions;
  /**
   * SID -> monotonic time, in the order of that, of what the host accepted in this process: the list must not
   * offer it each time.
   */
  readonly #accepted = new Map<string, number>();
  /** SIDs of what a webhook says Twilio answered. The list does not, and the journal keeps no refusals. */
  readonly #answered = new RecentMap<true>(MAX_ANSWERED);
  /** As it was committed last. */
  #cursor: ListCursor | undefined;
  readonly #open = Promise.withResolvers<void>();
  readonly #line = new InboundLine();
  #waiting = 0;

  constructor(options: StoringOptions) {
    this.#options = options;
  }

  /** What was missed while nothing ran goes first: until this is called, pushed messages wait. */
  open(): void {
    this.#open.resolve();
  }

  /** Goes on where an earlier process ended. Undefined where that was no cursor of ours. */
  resume(stored: string | undefined): ListCursor | undefined {
    for (const sid of answeredIn(stored)) this.#answered.set(sid, true);
    this.#cursor = stored === undefined ? undefined : parseCursor(stored);
    return this.#cursor;
  }

  /** True for a message that the list need not offer. */
  accepted(sid: string): boolean {
    return this.#accepted.has(sid) || this.#answered.has(sid);
  }

  /**
   * A message of a webhook. Resolves once it is durable, to `full` when too many wait. Rejects as the signal
   * does.
   */
  async push(message: InboundMessage): Promise<'accepted' | 'full'> {
    if (this.#waiting >= MAX_WAITING) return 'full';
    this.#waiting += 1;
    const isAnswered = message.refusal === 'answered-by-platform';
    if (isAnswered) this.#answered.set(message.platformId, true);
    try {
      await settledOrAborted(this.#open.promise, this.#options.signal);
      // The list may have brought it while it waited; offering it again is harmless and tells that it is
      // durable.
      await this.#line.run(() => this.#offer([message], isAnswered ? this.#cursor : undefined));
      return 'accepted';
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Resolves once the host accepted. Rejects with the signal's reason alone. */
  offer(batch: readonly InboundMessage[], cursor?: ListCursor): Promise<void> {
    return this.#line.run(() => this.#offer(batch, cursor));
  }

  /** Resolves once nothing is being offered any more. */
  idle(): Promise<void> {
    return this.#line.idle();
  }

  async #offer(batch: readonly InboundMessage[], cursor: ListCursor | undefined): Promise<void> {
    const { clock } = this.#options;
    if (cursor) this.#cursor = cursor;
    const answered = [...this.#answered].map(([sid]) => sid);
    await storeMessages(batch, cursor && formatCursor(cursor, answered), this.#options);
    const now = clock.monotonic();
    for (const { platformId } of batch) {
      this.#accepted.delete(platformId);
      this.#accepted.set(platformId, now);
    }
    for (const [sid, at] of this.#accepted) {
      if (now - at < REMEMBER_MS) break;
      this.#accepted.delete(sid);
    }
  }
}
