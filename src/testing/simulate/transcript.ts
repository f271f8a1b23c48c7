import type { SeenMessage } from '../platforms/platform.ts';

/** A message on the platform as the page shows it. `id` stays when the text is edited. */
export interface ChatMessage {
  readonly id: string;
  readonly person: number;
  readonly by: 'person' | 'bot';
  readonly text: string;
  /** Epoch ms at which it appeared. */
  readonly at: number;
  readonly edited: boolean;
}

/** Who wrote what: people by what they were told to write, the bot by what the platform shows of it. */
export class Transcript {
  readonly #written: ChatMessage[] = [];
  readonly #seen: ChatMessage[] = [];

  /** All messages, oldest first. */
  get messages(): readonly ChatMessage[] {
    return [...this.#written, ...this.#seen].sort((a, b) => a.at - b.at);
  }

  wrote(person: number, text: string, at: number): ChatMessage {
    const message = { id: `person-${this.#written.length}`, person, by: 'person', text, at, edited: false } as const;
    this.#written.push(message);
    return message;
  }

  /**
   * Takes what people see of the bot now, oldest first, and returns what is new or has another text. A platform numbers its messages
   * by their place in that list: it appends, and an edit stays where it was.
   */
  see(seen: readonly SeenMessage[]): readonly ChatMessage[] {
    const changed: ChatMessage[] = [];
    for (const [index, { person, text, at }] of seen.entries()) {
      const before = this.#seen[index];
      if (before?.text === text && before.person === person) continue;
      const message = { id: `bot-${index}`, person, by: 'bot', text, at, edited: before !== undefined } as const;
      this.#seen[index] = message;
      changed.push(message);
    }
    return changed;
  }
}
