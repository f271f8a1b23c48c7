/** What an adapter test puts where the gateway would be. Never shipped. */
import type { ChannelHealth, ChannelHost, Receipt } from '../core/channel.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import { systemClock } from '../lib/clock.ts';
import { SteadyClock } from './steady-clock.ts';

export interface ReceivedBatch {
  readonly messages: readonly InboundMessage[];
  readonly cursor: string | undefined;
  readonly answer: Receipt['kind'] | 'rejected';
}

/**
 * A journal in memory: keeps what it accepted once per dedup key, and the cursor. `next` scripts the answers
 * to the messages to come; without a script every batch is accepted, and so is a cursor that comes alone.
 * Handing one host to a second adapter plays a restart.
 */
export class TestHost implements ChannelHost {
  /** Every offer, accepted or not, in order. */
  readonly batches: ReceivedBatch[] = [];
  /** Every message of every offer, also of one that was never answered. */
  readonly offered: InboundMessage[] = [];
  /** First acceptance of each message, in order. */
  readonly accepted: InboundMessage[] = [];
  readonly states: { readonly state: ChannelHealth; readonly detail?: string }[] = [];
  readonly next: (Receipt | Error | Promise<Receipt>)[] = [];
  endings = 0;
  /** What adapters broke by. */
  readonly failures: unknown[] = [];
  #cursor: string | undefined;
  readonly #known = new Set<string>();

  /** `cursor`: what an earlier start left in the journal. */
  constructor(cursor?: string) {
    this.#cursor = cursor;
  }

  async receive(batch: readonly InboundMessage[], cursor?: string): Promise<Receipt> {
    this.offered.push(...batch);
    const scripted = batch.length > 0 ? this.next.shift() : undefined;
    if (scripted instanceof Error) {
      this.batches.push({ messages: batch, cursor, answer: 'rejected' });
      throw scripted;
    }
    const receipt: Receipt = (await scripted) ?? { kind: 'accepted' };
    this.batches.push({ messages: batch, cursor, answer: receipt.kind });
    if (receipt.kind === 'accepted') {
      for (const message of batch) {
        if (this.#known.has(message.id)) continue;
        this.#known.add(message.id);
        this.accepted.push(message);
      }
      this.#cursor = cursor ?? this.#cursor;
    }
    return receipt;
  }

  cursor(): Promise<string | undefined> {
    return Promise.resolve(this.#cursor);
  }

  health(state: ChannelHealth, detail?: string): void {
    this.states.push(detail === undefined ? { state } : { state, detail });
  }

  ended(error?: unknown): void {
    this.endings += 1;
    if (error !== undefined) this.failures.push(error);
  }

  /** The last state reported. */
  get state(): ChannelHealth | undefined {
    return this.states.at(-1)?.state;
  }

  /** A crash after a commit cannot lose it, but a host can be given an older cursor, or none. */
  resetCursor(cursor: string | undefined): void {
    this.#cursor = cursor;
  }
}

/**
 * Real time, with every wait shortened by `factor`: back-off and deadlines of minutes fit a test. A pause of
 * this process shortens no deadline.
 */
export function quickClock(factor = 20): Clock {
  const quick = new SteadyClock(factor);
  return { ...systemClock, sleep: (ms, signal) => quick.sleep(ms, signal) };
}

/**
 * As `quickClock`, for a platform that wants an answer within three seconds: the calls on the way to it have
 * deadlines of about one, which keep half a second here, or a busy machine would not make them. Pauses
 * before another try become as long.
 */
export function answeringClock(): Clock {
  const quick = quickClock();
  return { ...quick, sleep: (ms, signal) => quick.sleep(ms >= 500 && ms <= 2_500 ? 10_000 : ms, signal) };
}
