/** A Bot API update -> `InboundMessage`. Pure; tested on `fixtures/`. */
import type { Message, MessageOrigin, Update, User } from 'grammy/types';
import { shortHash } from '../../../src/core/ids.ts';
import type { InboundMessage, QuotedMessage, RefusalReason } from '../../../src/core/message.ts';
import { inboundMessage, unreadableMessage } from '../../kit/inbound-message.ts';
import { composed, label, ours, writtenBy } from '../../kit/senders-words.ts';
import { mediaOf, noteOf } from './inbound-content.ts';
import { type BotIdentity, plainText, readMention } from './inbound-text.ts';

export interface InboundContext {
  /** Instance name and account of the channel. */
  readonly channel: string;
  readonly account: string;
  readonly me: BotIdentity;
  /** Epoch ms, for events without a time of their own. */
  readonly now?: number;
}

/** The General topic of a forum: the platform leaves it out of messages and refuses it on sends, so it is named here. */
export const GENERAL_TOPIC = '1';

/** Undefined for updates that are no message. Throws only on an update that breaks the platform's own schema. */
export function toInbound(update: Update, context: InboundContext): InboundMessage | undefined {
  const edited = update.edited_message ?? update.edited_channel_post;
  const message = update.message ?? update.channel_post ?? edited;
  if (!message) return undefined;
  const { me } = context;
  const isGroup = message.chat.type !== 'private';
  const mention = readMention(message, isGroup ? me : undefined);
  const forwarded = message.forward_origin !== undefined;
  // The edit of an album tells of one picture; the others, and this one, stay as they came.
  const own = edited && message.media_group_id !== undefined ? [] : mediaOf(message);
  // Who asks about a picture points at it; the quote says whose it is. What people merely say to each other brings no files.
  const replied = message.reply_to_message;
  const asks = !isGroup || mention.found || replied?.from?.id === me.id;
  const media = own.length === 0 && replied && asks && !edited ? mediaOf(replied) : own;
  const { forward_origin: origin, via_bot: maker } = message;
  const content = composed(
    origin && ours(`[forwarded from ${originName(origin)}, not written by the sender]`),
    maker && ours(`[made with the inline bot @${label(maker.username ?? 'unknown')}]`),
    mention.text,
    ours(noteOf(message)),
  );
  const id = `${message.chat.id}:${message.message_id}`;
  // Two edits can fall into one second, which is all the platform tells apart; the hash keeps the later one.
  const platformId = edited ? `${id}:edit:${edited.edit_date}:${shortHash(plainText(message), 8)}` : id;
  const refusal = refusalOf(message, me, edited !== undefined, content.text === '' && media.length === 0);
  const replyTo = quotedOf(message, me);
  const threadId = threadOf(message);
  return inboundMessage(context, {
    chatId: String(message.chat.id),
    platformId,
    kind: edited ? 'edit' : 'message',
    ...(edited && { targetId: id }),
    ...(threadId !== undefined && { threadId }),
    ...authorOf(message),
    ...content,
    media,
    ...(replyTo && { replyTo }),
    isGroup,
    // Somebody else wrote a forwarded text: a name in it addresses nobody here.
    mentionsBot: mention.found && !forwarded,
    ...(refusal && { refusal }),
    timestamp: (edited?.edit_date ?? message.date) * 1000,
    replyContext: { messageId: message.message_id },
  });
}

/** The new id of a group that became a supergroup, from either side's service message: old id -> new id. */
export function migrationOf(update: Update): { readonly from: string; readonly to: string } | undefined {
  const message = update.message;
  if (message?.migrate_to_chat_id !== undefined) {
    return { from: String(message.chat.id), to: String(message.migrate_to_chat_id) };
  }
  if (message?.migrate_from_chat_id !== undefined) {
    return { from: String(message.migrate_from_chat_id), to: String(message.chat.id) };
  }
  return undefined;
}

/** Stands for an update that could not be read, so that it is counted and the poll goes on. */
export function unreadable(update: Update, { channel, account }: InboundContext, now: number): InboundMessage {
  return unreadableMessage({ channel, account, platformId: `update:${update.update_id}` }, now);
}

function authorOf(message: Message): { senderId: string; senderName: string } {
  // A channel or a group that speaks in its own name: its id is negative and thus never equals a user's.
  if (message.sender_chat) return { senderId: String(message.sender_chat.id), senderName: label(chatName(message.sender_chat)) };
  if (!message.from) return { senderId: String(message.chat.id), senderName: label(chatName(message.chat)) };
  // Never the username: it can be given up and taken by somebody else (reliability.md A3).
  return { senderId: String(message.from.id), senderName: personName(message.from) };
}

function refusalOf(message: Message, me: BotIdentity, edited: boolean, empty: boolean): RefusalReason | undefined {
  if (message.from?.id === me.id) return 'own-message';
  // Channel posts, linked channels, anonymous administrators and other bots have no person behind them (reliability.md A5).
  if (message.sender_chat || !message.from || message.from.is_bot || message.is_automatic_forward) return 'bot-author';
  // A live location is edited every few seconds for as long as it is shared.
  if (edited && message.location) return 'empty';
  // What people edit is marked as edited. Without the mark the platform tells of a reaction, a preview or the like.
  if (edited && message.edit_date === undefined) return 'unchanged';
  return empty ? 'empty' : undefined;
}

export function threadOf(message: Pick<Message, 'chat' | 'is_topic_message' | 'message_thread_id'>): string | undefined {
  // `message_thread_id` alone also numbers reply chains, which are no topics.
  if (message.is_topic_message && message.message_thread_id !== undefined) return String(message.message_thread_id);
  return message.chat.is_forum ? GENERAL_TOPIC : undefined;
}

function quotedOf(message: Message, me: BotIdentity): QuotedMessage | undefined {
  const replied = message.reply_to_message;
  // In a topic every first-level message "replies" to the service message that opened the topic.
  if (replied && !replied.forum_topic_created) {
    const fromBot = replied.from?.id === me.id;
    const files = mediaOf(replied).map(({ kind }) => `[${kind}]`);
    const text = message.quote?.text ?? [...files, plainText(replied), noteOf(replied)].filter((line) => line).join('\n');
    const own = fromBot || (!replied.sender_chat && replied.from !== undefined && replied.from.id === message.from?.id);
    const forwarded = replied.forward_origin && `forwarded from ${originName(replied.forward_origin)}, not by the sender`;
    const origin = forwarded ?? (own ? undefined : writtenBy(authorOf(replied).senderName));
    const platformId = `${replied.chat.id}:${replied.message_id}`;
    return { platformId, ...(text && { text }), ...(text && origin && { origin }), fromBot };
  }
  const external = message.external_reply;
  if (external) {
    const platformId = `${external.chat?.id ?? 'external'}:${external.message_id ?? 'unknown'}`;
    const origin = `quoted from ${originName(external.origin)} in another chat`;
    return { platformId, text: message.quote?.text ?? '', origin, fromBot: false };
  }
  return undefined;
}

function originName(origin: MessageOrigin): string {
  switch (origin.type) {
    case 'user':
      return personName(origin.sender_user);
    case 'hidden_user':
      return label(origin.sender_user_name);
    case 'chat':
      return label(chatName(origin.sender_chat));
    case 'channel':
      return label(chatName(origin.chat));
  }
}

export function personName(user: User): string {
  return label([user.first_name, user.last_name].filter((part) => part).join(' '));
}

function chatName(chat: Message['chat']): string {
  return chat.title ?? chat.username ?? chat.first_name ?? String(chat.id);
}
