import type { InboundMessage } from '../../../src/core/message.ts';
import { InboundLine } from '../../kit/inbound-line.ts';
import { type StoringOptions, storeMessages } from '../../kit/store-messages.ts';

/** Messages that may wait for the gateway; a later one is not taken, and the platform offers it again. */
const CAPACITY = 256;

/** Messages of callbacks, in one line. The platform gives up on one after 15 s, the gateway may be busy. */
export class Intake {
  readonly #options: StoringOptions;
  /** By dedup key: the repeat of a message that is in line waits for the same answer. */
  readonly #waiting = new Map<string, Promise<void>>();
  readonly #line = new InboundLine(CAPACITY);

  constructor(options: StoringOptions) {
    this.#options = options;
  }

  /** Resolves when the message is durable; rejects as the signal does. Undefined when the line is full. */
  take(message: InboundMessage): Promise<void> | undefined {
    const known = this.#waiting.get(message.platformId);
    if (known) return known;
    const taken = this.#line.push(() => this.#offer(message));
    if (taken) this.#waiting.set(message.platformId, taken);
    return taken;
  }

  /** Resolves when nothing is in line; only after the signal aborted is that sure to come. */
  settled(): Promise<void> {
    return this.#line.idle();
  }

  async #offer(message: InboundMessage): Promise<void> {
    try {
      await storeMessages([message], undefined, this.#options);
    } finally {
      this.#waiting.delete(message.platformId);
    }
  }
}
