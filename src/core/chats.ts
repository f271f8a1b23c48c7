/**
 * The chats that are known: what is needed to write there first, and what people chose for each (runs.md M7).
 */
import type { Address } from './message.ts';
import type { NewPart } from './outbox.ts';
import type { QueueMode } from './queueing.ts';
import type { ThinkingLevel } from './session.ts';

/**
 * Of each choice: null = it was taken back, so what an earlier version kept in the session does not hold
 * either. Absent = nothing was ever chosen here.
 */
export interface ChatSettings {
  /** Set by `/model`: an alias or `provider/model` of the config. */
  readonly model?: string | null;
  /** Set by `/think`. */
  readonly thinking?: ThinkingLevel | null;
  /** Set by `/status`; null = as built in. */
  readonly status?: StatusSettings | null;
  /** Set by `/thinking`: what the model thought is shown above its answers. */
  readonly showThinking?: boolean;
  /**
   * Topics that people made here, oldest first. The chat itself, which is the topic '', is not among them.
   */
  readonly topics?: readonly string[];
  /** Key of the part that lists them with buttons, the newest. */
  readonly picker?: string;
  /** Set by `/queue`. */
  readonly queue?: QueueMode | null;
}

/** What the line says that shows that there is work, as `/status` sets it. Absent = as built in. */
export interface StatusSettings {
  /** Shown before the first word. */
  readonly greeting?: string;
  /** Whether the model is named. Default: no. */
  readonly provider?: boolean;
  /** Whether tokens are counted. Default: yes. */
  readonly metrics?: boolean;
  /** In place of those of the language. */
  readonly words?: readonly string[];
  /** How long each word stands. Default 8. */
  readonly wordSecs?: number;
  /** A key of `STATUS_WORDS` (`src/lib/status-words.ts`). Default `en`. */
  readonly locale?: string;
}

/** Topics that a chat may have. */
export const MOST_TOPICS = 50;

/**
 * A change of the topics of a chat. `to` = this one is active from now on, and made where there is none of
 * this name; what was held of it is sent behind the parts of the same commit. `gone` = the topic ends with
 * its session, its runs and what is held of it; the active one cannot. Tasks and sub-agents in the background
 * go on: `parts` is what is said then in place of the answer, for so many of them.
 */
export type TopicChange =
  | { readonly to: string }
  | { readonly gone: string; readonly parts?: (goingOn: number) => readonly NewPart[] };

export interface Chat {
  /**
   * It has no thread and no reply context: those belong to a message, and would make new words an answer to
   * it.
   */
  readonly address: Address;
  /** Of a private chat, the name of the person as the platform gives it. Absent = none is known. */
  readonly title?: string;
  /** Of a private chat, the person (see `principalOf`). Absent = an earlier version noted it. */
  readonly principal?: string;
  readonly settings: ChatSettings;
  /** The topic in which people speak now, and the one before it. Absent = the chat itself. */
  readonly active?: string;
  readonly previous?: string;
  /**
   * When the newest message was let in, and when the newest was sent. Epoch ms, up to ten minutes late.
   * Absent = never.
   */
  readonly lastIn?: number;
  readonly lastOut?: number;
}

/**
 * A chat is known from the first message on that is let in from it; refused words and strangers who are given
 * a pairing code leave nothing here. It is noted in the commit of the message, and of the part that is sent.
 */
export interface Chats {
  /** The chat with this `chatKey`. Does not wait for the disk, see `journal.ts`. */
  of(key: string): Promise<Chat | undefined>;
  /**
   * The first account used under this channel name. Absent = no message was let in yet. Does not wait for the
   * disk.
   */
  firstAccount(channel: string): Promise<string | undefined>;
  /**
   * The private chats of a person (see `principalOf`), the one that was used last first. Looks through all
   * chats of their channel.
   */
  find(principal: string): Promise<readonly Chat[]>;
  /** The private chats on this channel whose person has this name, in any case; otherwise as `find`. */
  named(channel: string, title: string): Promise<readonly Chat[]>;
}
