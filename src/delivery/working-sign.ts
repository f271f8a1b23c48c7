// a run begins -> 3 s -> 👀 under its message -> the run ends -> taken away, or ✅, or ❌
import type { RunEvent } from '../core/events.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import { INTERRUPTED } from '../core/queueing.ts';
import type { RunRow, TurnResult } from '../core/run.ts';
import { startTimer } from '../lib/timer.ts';

/** Ended by a person, who knows it. */
const STOPPED: readonly string[] = ['cancelled', INTERRUPTED];

/** An answer that comes sooner needs no sign, which costs two calls within the platform's rate limits. */
const AFTER_MS = 3_000;
/**
 * An attempt that ends sooner shows no sign, however long its message had waited: while a burst is worked off
 * every message waits for seconds and every answer is there at once, and the signs would take the platform's
 * calls from the answers. ms.
 */
const SHORTEST_TURN_MS = 1_000;

/** Emoji under the message that is worked on; an empty one puts none. */
export interface SignEmoji {
  readonly working: string;
  /** Of a run that answered. Empty: `working` is taken away. */
  readonly done: string;
  /** Of a run that failed. Empty: `working` is taken away. */
  readonly failed: string;
}

export interface WorkingSignOptions {
  readonly emoji: SignEmoji;
  /**
   * Puts it, or takes ours away with undefined. Where answers need the place in the rate limits nothing is
   * put, and what `stands` is taken away. Rejects when the platform does.
   */
  readonly put: (message: InboundMessage, emoji: string | undefined, signal: AbortSignal, stands: boolean) => Promise<void>;
  /** Whether an earlier attempt at the run put a reaction that the agent chose. */
  readonly hasReacted: () => Promise<boolean>;
  readonly clock: Clock;
  /** Nothing is shown any more; the last call may be under way. */
  readonly ended: (sign: WorkingSign) => void;
  /** Delivery stops. */
  readonly signal: AbortSignal;
}

/**
 * The sign of life of one attempt at a run: a reaction under its message, from 3 s after the message was
 * accepted, but not before the attempt took a second, until the attempt ends. A reaction that the agent chose
 * stays. A failed call is ignored: the reaction is a sign and no answer. What a killed process left is taken
 * away by the attempt that ends the run.
 */
export class WorkingSign {
  readonly #message: InboundMessage;
  readonly #options: WorkingSignOptions;
  #isOver = false;
  #stopTimer: (() => void) | undefined;
  /** One call follows the other. */
  #calls: Promise<unknown> = Promise.resolve();
  /** There may be one. */
  #stands: boolean;
  #isAgents = false;

  constructor(row: RunRow, message: InboundMessage, options: WorkingSignOptions) {
    this.#message = message;
    this.#options = options;
    this.#stands = row.generation > 1 && options.emoji.working !== '';
    if (this.#stands) this.#queue(() => this.#lookBack());
    if (options.emoji.working !== '') {
      const waitedMs = options.clock.now() - row.acceptedAt;
      const waitMs = Math.max(SHORTEST_TURN_MS, AFTER_MS - waitedMs);
      this.#stopTimer = startTimer(options.clock, waitMs, () => this.#show());
    }
  }

  /** Takes every event of the run. */
  observe(event: RunEvent): void {
    if (event.type === 'tool.done' && event.tool === 'react' && event.ok) this.#isAgents = true;
  }

  /** The attempt is over, with this result, or without one. Call it once. */
  end(result?: Pick<TurnResult, 'state' | 'outcome'>): void {
    this.#isOver = true;
    this.#stopTimer?.();
    const last = this.#last(result);
    this.#queue(async () => {
      if (this.#isAgents || (last === undefined && !this.#stands)) return;
      await this.#putLast(last);
    });
    this.#options.ended(this);
  }

  /** Resolves when no call is under way. */
  async settled(): Promise<void> {
    await this.#calls;
  }

  /** A platform that knows no such reaction keeps none of ours. */
  async #putLast(emoji: string | undefined): Promise<void> {
    const { put, signal } = this.#options;
    try {
      await put(this.#message, emoji, signal, this.#stands);
    } catch (error) {
      if (emoji === undefined || !this.#stands) throw error;
      await put(this.#message, undefined, signal, true);
    }
  }

  #last(result: Pick<TurnResult, 'state' | 'outcome'> | undefined): string | undefined {
    const { done, failed } = this.#options.emoji;
    if (!result || result.state === 'PARKED' || STOPPED.includes(result.outcome)) return undefined;
    const isFailed = result.state === 'DEAD' || result.outcome.startsWith('failed:');
    return (isFailed ? failed : done) || undefined;
  }

  async #lookBack(): Promise<void> {
    if (await this.#options.hasReacted()) this.#isAgents = true;
  }

  #show(): void {
    const { emoji, put, signal } = this.#options;
    this.#queue(async () => {
      if (this.#isAgents || this.#isOver) return;
      this.#stands = true;
      await put(this.#message, emoji.working, signal, false);
    });
  }

  #queue(call: () => Promise<void>): void {
    this.#calls = this.#calls.then(call).catch(() => undefined);
  }
}
