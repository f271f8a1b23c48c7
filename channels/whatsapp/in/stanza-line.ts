import type { BinaryNode } from '@whiskeysockets/baileys';
import { errorText } from '../../../src/core/errors.ts';
import type { Logger } from '../../../src/core/ports.ts';

/** Stanzas in memory, also those that waited at the server; it keeps what is beyond and sends that again. */
const MAX_WAITING = 500;

export interface StanzaLineOptions {
  readonly handle: (node: BinaryNode) => Promise<void>;
  /** Called when the line was full at some time and is empty again: what came since is not in it. */
  readonly overflowed: () => void;
  readonly logger: Logger;
}

/** One stanza after the other, in the order in which they came. */
export class StanzaLine {
  readonly #options: StanzaLineOptions;
  readonly #waiting: BinaryNode[] = [];
  #last: Promise<void> = Promise.resolve();
  #arrival = Promise.withResolvers<void>();
  #full = false;

  constructor(options: StanzaLineOptions) {
    this.#options = options;
  }

  /** Those behind the one that is being handled. Only grows until that one is done. */
  get waiting(): readonly BinaryNode[] {
    return this.#waiting;
  }

  /** Resolves when the next one comes. */
  get arrival(): Promise<void> {
    return this.#arrival.promise;
  }

  push(node: BinaryNode): void {
    // One that is left out leaves out all behind it. Those in line are finished first: each connection must
    // make some progress.
    this.#full ||= this.#waiting.length >= MAX_WAITING;
    if (this.#full) return;
    this.#waiting.push(node);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
    this.#last = this.#last.then(() => this.#next());
  }

  async #next(): Promise<void> {
    const { handle, overflowed, logger } = this.#options;
    const node = this.#waiting.shift();
    try {
      if (node) await handle(node);
    } catch (error) {
      logger.debug('whatsapp.stanza-failed', { error: errorText(error) });
    }
    if (this.#full && this.#waiting.length === 0) overflowed();
  }
}
