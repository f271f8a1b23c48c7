/** An event of the platform -> `InboundMessage`. Pure: `known-messages.ts` asks for what the event lacks. */
import { shortHash } from '../../../src/core/ids.ts';
import {
  type InboundMessage,
  type MediaRef,
  type QuotedMessage,
  type RefusalReason,
  UNKNOWN_SENDER,
} from '../../../src/core/message.ts';
import { isRelayed } from '../../../src/core/relayed.ts';
import { isEmpty } from '../../../src/lib/bare-name.ts';
import { writtenBy } from '../../../src/lib/marks.ts';
import { inboundMessage, unreadableMessage } from '../../kit/inbound-message.ts';
import { type JsonObject, obj, parseJson } from '../../kit/json.ts';
import { composed, ours } from '../../kit/senders-words.ts';
import type { BotIdentity } from '../wire/client.ts';
import { toEmoji } from '../wire/emoji.ts';
import { stringOf } from '../wire/fields.ts';
import { type Conversation, FORWARDED, UNREAD_CONVERSATION } from './forwarded.ts';
import { type Content, readContent } from './inbound-content.ts';

export interface InboundContext {
  /** Instance name and account of the channel. */
  readonly channel: string;
  readonly account: string;
  readonly me: BotIdentity;
}

/** What is known of a message that an event only names. */
export interface KnownMessage {
  readonly chatId: string;
  readonly isGroup: boolean;
  readonly threadId?: string;
  /** Immutable id of the author; of a bot its app id. */
  readonly senderId: string;
  readonly fromBot: boolean;
  readonly text?: string;
  /** `text` is only the beginning: the platform was asked for the whole, and did not answer in time. */
  readonly isCut?: true;
  /** Files of its own: what they are asked for by names this message. */
  readonly media?: readonly MediaRef[];
}

export interface FeishuEvent {
  /**
   * Id of the delivery, the same on every redelivery; not to be relied on for messages (Receive message, step
   * "deduplicate").
   */
  readonly id: string;
  readonly type: string;
  /** Milliseconds since the epoch; NaN when the platform did not say. */
  readonly createdAt: number;
  readonly appId: string;
  readonly body: JsonObject;
}

/** Throws on a payload that is no event of version 2.0. */
export function readEvent(payload: unknown): FeishuEvent {
  const { header, event } = obj(payload);
  const head = obj(header);
  const type = stringOf(head['event_type']);
  const id = stringOf(head['event_id']);
  if (type === '' || id === '') throw new Error('not an event of version 2.0');
  const createdAt = Number.parseInt(stringOf(head['create_time']), 10);
  return {
    id,
    type,
    // Presses of buttons come in microseconds.
    createdAt: createdAt > 1e14 ? Math.floor(createdAt / 1_000) : createdAt,
    appId: stringOf(head['app_id']),
    body: obj(event),
  };
}

/** The message an event is about, when more must be known of it than the event tells. */
export function subjectOf(event: FeishuEvent): string | undefined {
  switch (event.type) {
    case 'im.message.receive_v1':
      return stringOf(obj(event.body['message'])['parent_id']) || undefined;
    case 'im.message.recalled_v1':
    case 'im.message.reaction.created_v1':
    case 'im.message.reaction.deleted_v1':
      return stringOf(event.body['message_id']) || undefined;
    case 'card.action.trigger':
      return stringOf(obj(event.body['context'])['open_message_id']) || undefined;
    default:
      return undefined;
  }
}

/** The message whose forwarded conversation has to be asked for: the event holds nothing of it. */
export function conversationOf(event: FeishuEvent): string | undefined {
  const message = obj(event.body['message']);
  const isForward = event.type === 'im.message.receive_v1' && message['message_type'] === FORWARDED;
  return (isForward && stringOf(message['message_id'])) || undefined;
}

/**
 * Undefined for events that are no message. Throws only on an event that breaks the platform's own schema.
 * `conversation`: the words of the one that it forwards.
 */
export function toInbound(
  event: FeishuEvent,
  context: InboundContext,
  subject?: KnownMessage,
  conversation = UNREAD_CONVERSATION,
): InboundMessage | undefined {
  switch (event.type) {
    case 'im.message.receive_v1':
      return toMessage(event, context, subject, conversation);
    case 'im.message.recalled_v1':
      return toDelete(event, context, subject);
    case 'im.message.reaction.created_v1':
    case 'im.message.reaction.deleted_v1':
      return toReaction(event, context, subject);
    case 'card.action.trigger':
      return toPress(event, context, subject);
    default:
      return undefined;
  }
}

function toMessage(
  event: FeishuEvent,
  context: InboundContext,
  parent: KnownMessage | undefined,
  conversation: Conversation,
): InboundMessage {
  const { me } = context;
  const sender = obj(event.body['sender']);
  const message = obj(event.body['message']);
  const messageId = required(message['message_id'], 'message_id');
  const chatId = required(message['chat_id'], 'chat_id');
  const isGroup = message['chat_type'] !== 'p2p';
  const type = stringOf(message['message_type']);
  const senderType = stringOf(sender['sender_type']);
  // The open id never changes; user ids and names may (reliability.md A3).
  const senderId = stringOf(obj(sender['sender_id'])['open_id']) || 'unknown';
  const rawContent = stringOf(message['content']);
  const content = readContent(
    { messageId, type, content: rawContent, mentions: message['mentions'] },
    isGroup ? me.openId : undefined,
  );
  const threadId = stringOf(message['thread_id']);
  const parentId = stringOf(message['parent_id']);
  // Who asks about a picture points at it. What people merely say to each other brings no files.
  const asks = !isGroup || content.mentionsBot || parent?.fromBot === true;
  const media = asks && content.media.length === 0 ? (parent?.media ?? []) : content.media;
  const replyTo = parentId === '' ? undefined : quoted(parentId, senderId, parent);
  const { mentionsBot } = content;
  const written = wordsOf(type, content, conversation);
  const createdAt = Number.parseInt(stringOf(message['create_time']), 10);
  const timestamp = Number.isFinite(createdAt) ? createdAt : event.createdAt;
  const empty = isEmpty({ ...written, media, mentionsBot, replyTo });
  // "Ada joined the group": no person wrote it.
  const author = { senderId, senderType: type === 'system' ? 'system' : senderType, empty };
  const refusal = refusalOf(author, context);
  return inboundMessage(context, {
    chatId,
    platformId: messageId,
    // The platform was seen to deliver a message again under a new id (reliability.md 1.1), with the same
    // chat, author, time and words.
    secondaryId: `${chatId}:${senderId}:${timestamp}:${shortHash(`${type}\n${rawContent}`)}`,
    ...(threadId !== '' && { threadId }),
    senderId,
    ...written,
    media,
    ...(replyTo && { replyTo }),
    isGroup,
    mentionsBot,
    ...(refusal && { refusal }),
    timestamp,
    replyContext: { messageId, group: isGroup },
  });
}

/** People write no cards: one that a person sent is of another author. */
export function wordsOf(type: string, { note, text }: Content, conversation: Conversation): Conversation {
  if (type === FORWARDED) return conversation;
  const forwardMark = type === 'interactive' ? ours('[forwarded card, not written by the sender]') : undefined;
  return composed(forwardMark, ours(note), text);
}

function quoted(platformId: string, senderId: string, parent: KnownMessage | undefined): QuotedMessage {
  if (!parent) return { platformId, fromBot: false };
  const { fromBot, isCut, media = [] } = parent;
  const said = `${parent.text ?? ''}${isCut ? '…' : ''}`;
  const text = [...media.map(({ kind }) => `[${kind}]`), said].filter((line) => line !== '').join('\n');
  const own = fromBot || parent.senderId === senderId || text === '';
  return {
    platformId,
    ...(text !== '' && { text }),
    ...(!own && { origin: writtenBy(parent.senderId), authorId: parent.senderId }),
    fromBot,
  };
}

function refusalOf(
  author: { readonly senderId: string; readonly senderType: string; readonly empty: boolean },
  { me, account }: InboundContext,
): RefusalReason | undefined {
  if (author.senderId === me.openId || author.senderId === account) return 'own-message';
  // Only `user` has a person behind it; the other kinds are apps and anonymous authors (attack A5).
  if (author.senderType !== 'user' || author.senderId === 'unknown') return 'bot-author';
  return author.empty ? 'empty' : undefined;
}

/** It counts as its author's: whether the author, an owner or an administrator recalled it is not told. */
function toDelete(event: FeishuEvent, context: InboundContext, target: KnownMessage | undefined): InboundMessage {
  const targetId = required(event.body['message_id'], 'message_id');
  const chatId = stringOf(event.body['chat_id']) || target?.chatId || 'unknown';
  const time = Number.parseInt(stringOf(event.body['recall_time']), 10);
  // Documented in seconds, seen in milliseconds.
  const timestamp = Number.isFinite(time) ? (time < 1e11 ? time * 1_000 : time) : event.createdAt;
  return inboundMessage(context, {
    chatId,
    platformId: `${targetId}:recalled`,
    kind: 'delete',
    targetId,
    ...place(target),
    senderId: target?.senderId ?? UNKNOWN_SENDER,
    // It takes back what was addressed to us, whatever is in it.
    mentionsBot: true,
    ...(target?.fromBot && { refusal: 'own-message' as const }),
    timestamp,
  });
}

function toReaction(event: FeishuEvent, context: InboundContext, target: KnownMessage | undefined): InboundMessage {
  const targetId = required(event.body['message_id'], 'message_id');
  const senderId = stringOf(obj(event.body['user_id'])['open_id']) || stringOf(event.body['app_id']) || 'unknown';
  const senderType = stringOf(event.body['operator_type']);
  const name = stringOf(obj(event.body['reaction_type'])['emoji_type']);
  const created = event.type === 'im.message.reaction.created_v1';
  const time = stringOf(event.body['action_time']);
  const refusal = refusalOf({ senderId, senderType, empty: false }, context);
  return inboundMessage(context, {
    chatId: target?.chatId ?? 'unknown',
    platformId: `${targetId}:${created ? 'reaction' : 'unreaction'}:${senderId}:${name}:${time || event.id}`,
    kind: 'reaction',
    targetId,
    ...place(target),
    senderId,
    text: created ? toEmoji(name) : '',
    mentionsBot: target?.fromBot === true,
    ...(refusal && { refusal }),
    timestamp: Number.parseInt(time, 10) || event.createdAt,
  });
}

/** A press of our button, whose value `outbound.ts` made. The platform asks once and never again. */
function toPress(event: FeishuEvent, context: InboundContext, card: KnownMessage | undefined): InboundMessage {
  const { operator, action, context: where } = event.body;
  const senderId = stringOf(obj(operator)['open_id']) || 'unknown';
  const messageId = stringOf(obj(where)['open_message_id']);
  const chatId = stringOf(obj(where)['open_chat_id']) || 'unknown';
  const raw = obj(action)['value'];
  const value = obj(typeof raw === 'string' ? parseJson(raw) : raw);
  const text = stringOf(value['choice']);
  const threadId = stringOf(value['thread']) || card?.threadId;
  // Unknown is the stricter of the two.
  const isGroup = typeof value['group'] === 'boolean' ? value['group'] : (card?.isGroup ?? true);
  // A card that was forwarded carries its buttons along; they answer for the chat they were made for.
  const ours = text !== '' && value['chat'] === chatId;
  const refusal = ours ? refusalOf({ senderId, senderType: 'user', empty: false }, context) : 'unreadable';
  return inboundMessage(context, {
    chatId,
    platformId: `press:${event.id}`,
    ...(threadId !== undefined && { threadId }),
    senderId,
    text: ours ? text : '',
    // An answer is known to whom it was given; words of others make what they offer theirs too.
    ...(messageId !== '' && {
      replyTo: { platformId: messageId, fromBot: true, ...(isRelayed(card?.text ?? '') && { text: card?.text ?? '' }) },
    }),
    isGroup,
    mentionsBot: true,
    ...(refusal && { refusal }),
    timestamp: event.createdAt,
    ...(messageId !== '' && { replyContext: { messageId, group: isGroup } }),
  });
}

function place(target: KnownMessage | undefined): Pick<InboundMessage, 'isGroup' | 'threadId'> {
  return { isGroup: target?.isGroup ?? true, ...(target?.threadId !== undefined && { threadId: target.threadId }) };
}

/** Stands for an event that could not be read, so that it is counted and acknowledged. */
export function unreadable(payload: unknown, { channel, account }: InboundContext, now: number): InboundMessage {
  const id = stringOf(obj(obj(payload)['header'])['event_id']) || shortHash(JSON.stringify(payload) ?? '');
  return unreadableMessage({ channel, account, platformId: `event:${id}` }, now);
}

function required(value: unknown, name: string): string {
  const text = stringOf(value);
  if (text === '') throw new Error(`the event has no ${name}`);
  return text;
}
