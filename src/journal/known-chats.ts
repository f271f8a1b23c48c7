import type { Chat } from '../core/chats.ts';

/** About 500 bytes each. */
const MOST = 1_000;

/**
 * Chats as they were last read: each is asked for several times for a message, and changes once in ten
 * minutes. A write of a chat calls `changed`; `forget` is for what another process may have written, as late
 * as the journal looks for that.
 */
export class KnownChats {
  /** In the order in which they were read. `undefined` = there is no such chat. */
  readonly #chats = new Map<string, Chat | undefined>();

  /** `read` runs when it is not known. */
  get(key: string, read: () => Chat | undefined): Chat | undefined {
    if (this.#chats.has(key)) return this.#chats.get(key);
    const chat = read();
    const [oldest] = this.#chats.size >= MOST ? this.#chats.keys() : [];
    if (oldest !== undefined) this.#chats.delete(oldest);
    this.#chats.set(key, chat);
    return chat;
  }

  /**
   * Without reading, which is for between commits alone: within one a chat may be read that is never
   * committed.
   */
  known(key: string): Chat | undefined {
    return this.#chats.get(key);
  }

  changed(key: string): void {
    this.#chats.delete(key);
  }

  forget(): void {
    this.#chats.clear();
  }
}
