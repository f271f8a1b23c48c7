/** How far messages were committed, as the journal keeps it. */
import type { InboundMessage } from '../../../src/core/message.ts';
import { list, parseObject, str } from '../../kit/json.ts';

/** Threads kept: those we wrote in last. The journal rewrites the cursor with every batch: it stays small. */
const MAX_THREADS = 100;

/** How far ahead of now a stored time may be; anything near is covered by the overlap of the catch-up. */
const AHEAD_SECS = 60;

/**
 * `ts`: every message up to it was offered and accepted, apart from what was delivered out of order. It moves
 * only while nothing older can be missing, that is after a catch-up came to its end. `since`: the first
 * start; older messages were never meant for us. Times are the platform's: seconds since the epoch with six
 * places.
 */
export class Cursor {
  #since: number;
  #ts: number;
  /** `C1:1712.0001`, the one we wrote in longest ago first. */
  readonly #threads: Set<string>;
  /** Those of them that hang on a message of ours, and in which we wrote nothing else. */
  readonly #begun: Set<string>;
  /** False while messages of an outage may still be missing. */
  #complete = false;

  constructor(stored: string | undefined, now: number) {
    const value = stored === undefined ? {} : (parseObject(stored) ?? {});
    const ts = Number(str(value['ts']) ?? Number.NaN);
    this.#ts = Number.isFinite(ts) ? ts : now / 1_000;
    const since = Number(str(value['since']) ?? Number.NaN);
    this.#since = Number.isFinite(since) ? since : this.#ts;
    this.correct(now);
    this.#threads = new Set(strings(value['threads']));
    this.#begun = new Set(strings(value['begun']).filter((entry) => this.#threads.has(entry)));
  }

  get ts(): number {
    return this.#ts;
  }

  get since(): number {
    return this.#since;
  }

  /** Threads that we wrote in, as `[chat, thread]`. */
  threads(): readonly (readonly [string, string])[] {
    return [...this.#threads].map((entry) => {
      const at = entry.lastIndexOf(':');
      return [entry.slice(0, at), entry.slice(at + 1)] as const;
    });
  }

  joined(chatId: string, threadId: string): boolean {
    return this.#threads.has(`${chatId}:${threadId}`);
  }

  /** As `joined`, but for a thread that only hangs on a message of ours. */
  answered(chatId: string, threadId: string): boolean {
    return this.joined(chatId, threadId) && !this.#begun.has(`${chatId}:${threadId}`);
  }

  /**
   * Remembers the thread of a message that is our own. What others write proves nothing: whether they may
   * call us is decided later, and a person who may not would have us answer talk among those who may.
   */
  learn({ chatId, threadId, startsThread, refusal }: InboundMessage): void {
    if (threadId === undefined || refusal !== 'own-message') return;
    const begins = startsThread === true && !this.answered(chatId, threadId);
    this.join(chatId, threadId);
    if (begins) this.#begun.add(`${chatId}:${threadId}`);
  }

  /**
   * The platform lists us among those who wrote replies: of use where our own message was never shown to us.
   */
  hint(chatId: string, threadId: string): void {
    if (!this.answered(chatId, threadId)) this.join(chatId, threadId);
  }

  /** We wrote in this thread just now. */
  join(chatId: string, threadId: string): void {
    const entry = `${chatId}:${threadId}`;
    this.#begun.delete(entry);
    this.#threads.delete(entry);
    this.#threads.add(entry);
    const [oldest] = this.#threads;
    if (this.#threads.size <= MAX_THREADS || oldest === undefined) return;
    this.#threads.delete(oldest);
    this.#begun.delete(oldest);
  }

  /**
   * Corrects a time ahead of `now`, epoch ms: a wrong clock told it, and nothing would be fetched until then.
   * True when there was one: what came since the first start is then looked for once more, as far back as
   * anything is fetched; the journal knows what it has.
   */
  correct(now: number): boolean {
    const latest = now / 1_000 + AHEAD_SECS;
    if (this.#ts <= latest && this.#since <= latest) return false;
    this.#since = Math.min(this.#since, now / 1_000);
    this.#ts = this.#since;
    return true;
  }

  /** What to commit along with live messages of this time; undefined while the cursor must stand still. */
  after(ts: number | undefined): string | undefined {
    if (!this.#complete) return undefined;
    if (ts !== undefined) this.#ts = Math.max(this.#ts, ts);
    return this.toString();
  }

  /** The connection broke: what comes next may come after a gap. */
  interrupted(): void {
    this.#complete = false;
  }

  /** Everything up to `ts` was fetched and committed. */
  caughtUp(ts: number): string {
    this.#complete = true;
    this.#ts = Math.max(this.#ts, ts);
    return this.toString();
  }

  toString(): string {
    const [ts, since] = [this.#ts.toFixed(6), this.#since.toFixed(6)];
    const begun = this.#begun.size > 0 && { begun: [...this.#begun] };
    return JSON.stringify({ ts, since, threads: [...this.#threads], ...begun });
  }
}

function strings(value: unknown): readonly string[] {
  return list(value).filter((entry): entry is string => typeof entry === 'string');
}
