/** What is posted to the owner, and how it is told apart. */
import type { Channel, ChannelHealth } from '../core/channel.ts';
import { OWNER_PARTS } from '../core/ids.ts';
import type { ChatRef, Choice } from '../core/message.ts';
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
   * It stands in this chat, whose `chatKey` is `key`: it did not arrive in the one it was posted to, or the
   * config names another owner.
   */
  readonly onMoved?: (chat: OwnerChat, key: string) => void;
  /** `chatKey` of the chat in which the caller knows it to stand; `onMoved` tells of any other one. */
  readonly standsIn?: string;
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

/**
 * One that is connected; else one in trouble that mends itself, or still connecting: the part waits for it.
 */
export function usable(
  { options, gaveUp }: Text,
  states: readonly ChannelHealth[],
  { chats, channel: find, state }: Pick<OwnerPostsOptions, 'chats' | 'channel' | 'state'>,
): { channel: Channel; chat: OwnerChat } | undefined {
  for (const wanted of states) {
    for (const chat of chats) {
      const channel = find(chat.channel);
      const isOut = chat.channel === options.except || gaveUp.some((one) => isSame(one, chat));
      if (channel && !isOut && state(chat.channel) === wanted) return { channel, chat };
    }
  }
  return undefined;
}

/** Whether a chat is still one of the owner. Of a channel that could not be created no account tells. */
export function isOwners(
  { channel, account, chatId }: ChatRef,
  { chats, channel: find }: Pick<OwnerPostsOptions, 'chats' | 'channel'>,
): boolean {
  return (find(channel)?.account ?? account) === account && chats.some((chat) => isSame(chat, { channel, chatId }));
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
