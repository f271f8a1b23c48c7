/** A Bot API update -> `InboundMessage`. Pure; tested on `fixtures/`. */
import type { Message, Update } from 'grammy/types';
import { shortHash } from '../../../src/core/ids.ts';
import type { InboundMessage, RefusalReason } from '../../../src/core/message.ts';
import { isEmpty } from '../../../src/lib/bare-name.ts';
import { inboundMessage, unreadableMessage } from '../../kit/inbound-message.ts';
import { composed, label, ours } from '../../kit/senders-words.ts';
import { authorOf, originName } from './authors.ts';
import { mediaOf } from './inbound-content.ts';
import { noteOf } from './inbound-note.ts';
import { quotedOf, repliedMedia } from './inbound-reply.ts';
import { type BotIdentity, plainText, readMention } from './inbound-text.ts';

export interface InboundContext {
  /** Instance name and account of the channel. */
  readonly channel: string;
  readonly account: string;
  readonly me: BotIdentity;
  /** Epoch ms, for events without a time of their own. */
  readonly now?: number;
}

/** The General topic of a forum. The platform omits it in messages and refuses it on sends: we name it. */
export const GENERAL_TOPIC = '1';

/** Undefined for updates that are no message. Throws only on one that breaks the platform's own schema. */
export function toInbound(update: Update, context: InboundContext): InboundMessage | undefined {
  const edited = update.edited_message ?? update.edited_channel_post;
  const message = update.message ?? update.channel_post ?? edited;
  if (!message) return undefined;
  const { me } = context;
  const isGroup = message.chat.type !== 'private';
  const mention = readMention(message, me, isGroup);
  const forwarded = message.forward_origin !== undefined;
  // The edit of an album tells of one picture; the others, and this one, stay as they came.
  const own = edited && message.media_group_id !== undefined ? [] : mediaOf(message);
  // Who asks about a picture points at it; the quote says whose it is. What people merely say to each other
  // brings no files.
  const asks = !isGroup || mention.found || message.reply_to_message?.from?.id === me.id;
  const media = own.length === 0 && asks && !edited ? repliedMedia(message) : own;
  const { forward_origin: origin, via_bot: maker } = message;
  const replyTo = quotedOf(message, me);
  // The sender did not write a forwarded text: a name in it does not address the agent.
  const mentionsBot = isGroup && mention.found && !forwarded;
  const content = composed(
    origin && ours(`[forwarded from ${originName(origin)}, not written by the sender]`),
    maker && ours(`[made with the inline bot @${label(maker.username ?? 'unknown')}]`),
    mention.text,
    ours(noteOf(message)),
  );
  const id = `${message.chat.id}:${message.message_id}`;
  // Two edits can fall into one second, which is all the platform tells apart; the hash keeps the later one.
  const platformId = edited ? `${id}:edit:${edited.edit_date}:${shortHash(plainText(message), 8)}` : id;
  const refusal = refusalOf(message, me, edited !== undefined, isEmpty({ ...content, media, mentionsBot, replyTo }));
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
    mentionsBot,
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

function refusalOf(message: Message, me: BotIdentity, edited: boolean, empty: boolean): RefusalReason | undefined {
  if (message.from?.id === me.id) return 'own-message';
  // Channel posts, linked channels, anonymous administrators and other bots have no person behind them
  // (attack A5).
  if (message.sender_chat || !message.from || message.from.is_bot || message.is_automatic_forward) return 'bot-author';
  // A live location is edited every few seconds for as long as it is shared.
  if (edited && message.location) return 'empty';
  // What people edit is marked as edited. Without the mark the platform reports a reaction, a preview or the
  // like.
  if (edited && message.edit_date === undefined) return 'unchanged';
  return empty ? 'empty' : undefined;
}

/**
 * In the direct messages of a channel each person has a topic; what is sent there must name it (Bot API,
 * sendMessage).
 */
export const DIRECT_TOPIC = 'dm:';

export function threadOf(
  message: Pick<Message, 'chat' | 'is_topic_message' | 'message_thread_id' | 'direct_messages_topic'>,
): string | undefined {
  if (message.direct_messages_topic) return `${DIRECT_TOPIC}${message.direct_messages_topic.topic_id}`;
  // `message_thread_id` alone also numbers reply chains, which are no topics.
  if (message.is_topic_message && message.message_thread_id !== undefined) return String(message.message_thread_id);
  return message.chat.is_forum ? GENERAL_TOPIC : undefined;
}
