import { isAwaited } from '../core/awaited.ts';
import type { Channel } from '../core/channel.ts';
import type { LeftRun } from '../core/journal.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import type { Budget, Place } from './budget.ts';
import { putReaction } from './react.ts';
import { Typing } from './typing.ts';
import { type SignEmoji, WorkingSign } from './working-sign.ts';

/** Reactions of ours under the messages that are worked on. */
export interface Reactions {
  readonly of: (channel: string) => SignEmoji;
  /** Whether an earlier attempt at the run put a reaction that the agent chose. */
  readonly hasReacted: (row: RunRow) => Promise<boolean>;
}

export interface SignsOptions {
  /** Absent: none. */
  readonly reactions: Reactions | undefined;
  readonly channels: ReadonlyMap<string, Channel>;
  /** The channel when it can send now. */
  readonly channel: (message: InboundMessage) => Channel | undefined;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly stop: AbortSignal;
}

/** What shows that there is work on a message until its answer comes. None of it holds up an answer. */
export class Signs {
  readonly #options: SignsOptions;
  readonly #running = new Set<Promise<void>>();
  /** Whose signs an earlier process may have left, by channel; until that can be told. */
  readonly #left = new Map<string, readonly LeftRun[]>();

  constructor(options: SignsOptions) {
    this.#options = options;
  }

  /** See `Delivery.typing`. */
  typing(ref: Place): Disposable {
    return new Typing(ref, { ...this.#options, signal: this.#options.stop });
  }

  /** Of one attempt at a run, which ends it. Undefined where no person waits for an answer to a message. */
  begin(row: RunRow): WorkingSign | undefined {
    const { message } = row;
    const { channels, reactions, clock, stop } = this.#options;
    if (!message || !reactions) return undefined;
    const emoji = reactions.of(message.channel);
    // What is only overheard may be meant for no one here.
    if (message.overheard || !isAwaited(row) || !channels.get(message.channel)?.react) return undefined;
    return new WorkingSign(row, message, {
      ...{ emoji, clock, signal: stop },
      put: (about, one, signal, stands) => this.#put(about, one, signal, stands),
      hasReacted: () => reactions.hasReacted(row),
      ended: (sign) => this.#own(sign.settled()),
    });
  }

  /** Runs that an earlier process had begun, and that do not go on: see `Recovery.left`. */
  left(runs: readonly LeftRun[]): void {
    for (const [channel, own] of Map.groupBy(runs, ({ row }) => row.message.channel)) this.#left.set(channel, own);
  }

  /** Ends the signs of what is left there, as an attempt at the run would that came to this end. One try. */
  channelReady(name: string): void {
    const runs = this.#left.get(name) ?? [];
    this.#left.delete(name);
    for (const { row, state, outcome } of runs) {
      // What was overheard has a sign once it was found to be meant for us.
      const { overheard: _, ...message } = row.message;
      this.begin({ ...row, message, generation: row.generation + 1 })?.end({ state, outcome });
    }
  }

  /** Resolves when nothing of them runs any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #put(message: InboundMessage, emoji: string | undefined, signal: AbortSignal, stands: boolean): Promise<void> {
    const { budget, clock } = this.#options;
    const channel = this.#options.channel(message);
    const isShort = emoji !== undefined && channel && !budget.plentiful(message, channel.limits.rate);
    // What stands is taken away even where that has to wait; a new sign can be done without.
    if (isShort && !stands) return;
    await putReaction(message, isShort ? undefined : emoji, { channel, budget, clock, signal });
  }

  #own(running: Promise<void>): void {
    const owned = running.finally(() => this.#running.delete(owned));
    this.#running.add(owned);
  }
}
