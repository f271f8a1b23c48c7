import type { ChannelHost } from '../../src/core/channel.ts';
import type { InboundMessage } from '../../src/core/message.ts';
import type { Clock } from '../../src/core/ports.ts';
import { offer } from '../kit/offer.ts';

export interface IntakeOptions {
  readonly host: Pick<ChannelHost, 'receive' | 'cursor' | 'health' | 'ended'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends every wait; what was not accepted by then is the platform's to deliver again. */
  readonly signal: AbortSignal;
  readonly onRejected: (error: unknown) => void;
  readonly onAccepted: () => void;
}

/** Messages that may wait for the gateway; a later one is not taken, and the platform offers it again. */
const CAPACITY = 256;

/**
 * One line to the gateway: callbacks come over many connections, and the second message must not pass a first one that waits. A message
 * stays in line when its connection is gone: the platform gives up after 15 s, the gateway may still be busy then.
 */
export class Intake {
  readonly #options: IntakeOptions;
  /** By dedup key: the repeat of a message that is in line waits for the same answer. */
  readonly #waiting = new Map<string, Promise<void>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Resolves when the message is durable, rejects with the signal's reason. Undefined when the line is full. */
  take(message: InboundMessage): Promise<void> | undefined {
    const known = this.#waiting.get(message.platformId);
    if (known) return known;
    if (this.#waiting.size >= CAPACITY) return undefined;
    const taken = this.#offer(message, this.#last);
    this.#waiting.set(message.platformId, taken);
    this.#last = taken.catch(() => undefined);
    return taken;
  }

  /** Resolves when nothing is in line; only after the signal aborted is that sure to come. */
  async settled(): Promise<void> {
    await this.#last;
  }

  async #offer(message: InboundMessage, before: Promise<unknown>): Promise<void> {
    await before;
    const { onRejected, onAccepted } = this.#options;
    try {
      await offer([message], undefined, { ...this.#options, onRejected });
      onAccepted();
    } finally {
      this.#waiting.delete(message.platformId);
    }
  }
}
