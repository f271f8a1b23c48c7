/** What is posted to the owner, and how it is told apart. */
import type { Channel, ChannelHealth } from '../core/channel.ts';
import { OWNER_PARTS } from '../core/ids.ts';
import type { Choice } from '../core/message.ts';
import type { NewPart, Outbox } from '../core/outbox.ts';
import type { Clock, Logger } from '../core/ports.ts';

export interface OwnerChat {
  /** Instance name. */
  readonly channel: string;
  readonly chatId: string;
  /** The owner's ids as a sender on that channel. */
  readonly senderIds?: readonly string[];
}

export interface PostOptions {
  readonly expiresInMs: number;
  /** Not on this channel. */
  readonly except?: string;
  /** Answers to press, or to type where there are no buttons. */
  readonly choices?: readonly Choice[];
  /**
   * Worth telling also after it expired where it could not be sent: it then goes to another chat for as long
   * again.
   */
  readonly isNews?: boolean;
  /**
   * It is taken away from the chat it was posted to, where it surely did not arrive, and stands in this one;
   * `key` is its `chatKey`.
   */
  readonly onMoved?: (chat: OwnerChat, key: string) => void;
  /** It surely reached no chat, and no other one works. */
  readonly onLost?: () => void;
}

/** A text made ready for the first chat that works. It is nowhere before its parts are on disk. */
export interface ReadyPost {
  /** `chatKey` of the chat. */
  readonly chat: string;
  readonly parts: readonly NewPart[];
  /** To be called once they are. */
  onDisk(): void;
}

export interface OwnerPostsOptions {
  /** In order of preference. Empty: everything goes to the log. */
  readonly chats: readonly OwnerChat[];
  readonly journal: Pick<Outbox, 'enqueue' | 'part' | 'sending' | 'settle'>;
  readonly channel: (name: string) => Channel | undefined;
  readonly state: (name: string) => ChannelHealth | undefined;
  /** Parts are on disk: delivery may look. */
  readonly onParts: (parts: readonly NewPart[]) => void;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Text {
  readonly id: string;
  readonly text: string;
  readonly options: PostOptions;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** How often it was posted, this time included. */
  readonly attempt: number;
  /** Chats that refused it for good, or could not be reached until it had expired. */
  readonly gaveUp: OwnerChat[];
}

/** A text in the outbox of a chat, of which nothing is known to have arrived. */
export interface Entrusted extends Text {
  readonly chat: OwnerChat;
  readonly keys: readonly string[];
  /** Monotonic ms. */
  readonly since: number;
  /** Aborts when it needs no looking after any more. */
  readonly over: AbortController;
  moving: boolean;
}

/** The same text, to be posted once more. */
export function next({ id, text, options, expiresAt, attempt, gaveUp }: Entrusted): Text {
  return { id, text, options, expiresAt, attempt: attempt + 1, gaveUp };
}

export function isSame(a: OwnerChat, b: OwnerChat): boolean {
  return a.channel === b.channel && a.chatId === b.chatId;
}

/** What its parts are keyed by: see `OWNER_PARTS`. */
export function messageId(id: string, attempt: number): string {
  return attempt === 1 ? `${OWNER_PARTS}${id}` : `${OWNER_PARTS}${id}/${attempt}`;
}

/** It answers no message. */
export function withoutMessage({ part: { messageId: _none, ...part }, ...row }: NewPart): NewPart {
  return { ...row, part };
}
