/** The conversations that there are: what is needed to write there first, and what people chose for each (runs.md M7). */
import type { Address } from './message.ts';
import type { ThinkingLevel } from './session.ts';

/** Null: taken back, so what an earlier version kept in the session does not hold either. Absent: never chosen here. */
export interface ChatSettings {
  /** Set by `/model`: an alias or `provider/model` of the config. */
  readonly model?: string | null;
  /** Set by `/think`. */
  readonly thinking?: ThinkingLevel | null;
}

export interface Chat {
  /** Without thread and reply context: these belong to a message, and would make new words an answer to an old one. */
  readonly address: Address;
  /** Of a private chat the name of the person, as the platform gives it. Absent where none is known. */
  readonly title?: string;
  readonly settings: ChatSettings;
  /** Epoch ms, to ten minutes: of the newest message that was let in, and of the newest that was sent. Absent = none yet. */
  readonly lastIn?: number;
  readonly lastOut?: number;
}

/**
 * A chat is known from the first message on that is let in from it; refused words and strangers who are given
 * a pairing code leave nothing here. It is noted in the commit of the message, and of the part that is sent.
 */
export interface Chats {
  /** By `chatKey`. Does not wait for the disk, see `journal.ts`. */
  of(key: string): Promise<Chat | undefined>;
  /** The private chats of a person (see `principalOf`), the one that was used last first. Looks through all chats of their channel. */
  find(principal: string): Promise<readonly Chat[]>;
}
