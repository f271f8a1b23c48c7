import type { SeenMessage } from './platforms/platform.ts';

/** A message on the platform as the page shows it. `id` stays when the text is edited. */
export interface ChatMessage {
  readonly id: string;
  /** In a group of the bot, the number of that. */
  readonly person: number;
  readonly inGroup?: true;
  /** Who of a group wrote it. */
  readonly author?: number;
  readonly by: 'person' | 'bot';
  readonly text: string;
  /** Epoch ms at which it appeared. */
  readonly at: number;
  readonly edited: boolean;
}

/** Who wrote what: people by what they were told to write, the bot by what the platform shows of it. */
export class Transcript {
  readonly #written: ChatMessage[] = [];
  #seen = new Map<string, ChatMessage>();

  /** All messages, oldest first. */
  get messages(): readonly ChatMessage[] {
    return [...this.#written, ...this.#seen.values()].sort((a, b) => a.at - b.at);
  }

  /** `author`: `person` is a group, and this is who wrote in it. */
  wrote(person: number, text: string, at: number, author?: number): ChatMessage {
    const group = author === undefined ? {} : { inGroup: true as const, author };
    const message = { id: `person-${this.#written.length}`, person, ...group, by: 'person', text, at, edited: false } as const;
    this.#written.push(message);
    return message;
  }

  /**
   * Takes what people see of the bot now, oldest first, and returns what is new or has another text, and
   * the ids of what was taken back. A message is known again by its person and its time, which an edit
   * does not change.
   */
  see(seen: readonly SeenMessage[]): { readonly changed: readonly ChatMessage[]; readonly removed: readonly string[] } {
    const changed: ChatMessage[] = [];
    const now = new Map<string, ChatMessage>();
    for (const { person, text, at, inGroup } of seen) {
      // Several parts of an answer may appear in the same millisecond.
      const chat = inGroup ? `group-${person}` : `${person}`;
      let id = `bot-${chat}-${at}`;
      for (let same = 1; now.has(id); same += 1) id = `bot-${chat}-${at}-${same}`;
      const before = this.#seen.get(id);
      const message =
        before?.text === text
          ? before
          : ({ id, person, ...(inGroup ? { inGroup } : {}), by: 'bot', text, at, edited: before !== undefined } as const);
      if (message !== before) changed.push(message);
      now.set(id, message);
    }
    const removed = [...this.#seen.keys()].filter((id) => !now.has(id));
    this.#seen = now;
    return { changed, removed };
  }
}
