/**
 * The chat of an account with itself ("Message yourself"): what its person writes there is a question, and
 * the answers stand there as messages of the same account.
 */
import type { InboundMessage } from '../../../src/core/message.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';

/** More than a person writes to an agent; two programs that answer each other are stopped here. */
const MOST = 60;
const WITHIN_MS = 600_000;

/**
 * The second line behind the ids of our own messages: nothing there is answered for a while once too much
 * came.
 */
export class SelfChatCap {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #taken: number[] = [];
  #isOver = false;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The message, refused where it is one too many. Only for messages of the account in its own chat. */
  judge(message: InboundMessage): InboundMessage {
    // An edit is answered as well: another program may write its answer bit by bit.
    if (message.refusal !== undefined || (message.kind !== 'message' && message.kind !== 'edit')) return message;
    const now = this.#clock.monotonic();
    this.#taken = this.#taken.filter((at) => now - at < WITHIN_MS);
    const isOver = this.#taken.length >= MOST;
    if (isOver && !this.#isOver) {
      const hint = 'look whether another program answers in the chat of this account with itself';
      this.#logger.warn('whatsapp.self-chat-capped', { most: MOST, minutes: WITHIN_MS / 60_000, hint });
    }
    this.#isOver = isOver;
    if (isOver) return { ...message, text: '', media: [], refusal: 'loop-cap' };
    this.#taken.push(now);
    return message;
  }
}
