/** An event of the platform -> `InboundMessage`. Pure: what it needs to know of places and roles comes in. */
import { shortHash } from '../../../src/core/ids.ts';
import { type InboundMessage, type RefusalReason, UNKNOWN_SENDER } from '../../../src/core/message.ts';
import { isEmpty } from '../../../src/lib/bare-name.ts';
import { changedMessage, inboundMessage, unreadableMessage } from '../../kit/inbound-message.ts';
import { type JsonObject, num, obj, str } from '../../kit/json.ts';
import { composed, ours } from '../../kit/senders-words.ts';
import { requireId, snowflake, timeOf } from '../wire/ids.ts';
import { filesBeside, filesOf, namesNobodyElse, piecesOf, quotedOf, type ReadingContext, titleOf } from './inbound-reply.ts';
import { displayName, readText, threadName } from './inbound-text.ts';
import { chatOf } from './places.ts';

export interface InboundContext extends ReadingContext {
  /** Instance name. */
  readonly channel: string;
  /** A thread that the agent takes part in: what is said there to no one in particular is said to it. */
  readonly isFollowed?: boolean;
  /** The answer to a message of this place opens a thread of that message. */
  readonly opensThreads?: boolean;
}

/**
 * What people write, replies included:
 * https://discord.com/developers/docs/resources/message#message-object-message-types
 */
const WRITTEN: ReadonlySet<number> = new Set([0, 19]);

/** MESSAGE_CREATE, or a message of the history. Throws on one that breaks the platform's own schema. */
export function toMessage(message: JsonObject, context: InboundContext): InboundMessage {
  return readMessage(message, context);
}

/**
 * MESSAGE_UPDATE. Undefined where no person changed anything: the platform tells link previews and pins this
 * way too.
 */
export function toEdit(message: JsonObject, context: InboundContext): InboundMessage | undefined {
  const edited = Date.parse(str(message['edited_timestamp']) ?? '');
  if (Number.isNaN(edited) || typeof message['content'] !== 'string' || message['author'] === undefined) return undefined;
  const base = readMessage(message, context);
  // Two edits can bear the same time; the hash keeps the later one.
  const platformId = `${base.platformId}:edit:${edited}:${shortHash(message['content'], 8)}`;
  const refusal = base.refusal ?? (base.text === '' && base.media.length === 0 ? 'empty' : undefined);
  return changedMessage(base, { kind: 'edit', platformId, timestamp: edited, ...(refusal && { refusal }) });
}

/** MESSAGE_DELETE, one id of MESSAGE_DELETE_BULK. Who deleted is not told; the journal finds its author. */
export function toDelete(messageId: unknown, context: InboundContext, now: number): InboundMessage {
  const targetId = requireId(messageId, 'message id');
  return { ...nobody(context, `${targetId}:delete`, now), kind: 'delete', targetId };
}

/**
 * MESSAGE_REACTION_ADD and _REMOVE. The platform gives these events no id; `source` is the event's place in
 * its session, which is the same when it comes again. `user` is the person who reacted; events of private
 * chats tell only the id.
 */
export function toReaction(
  event: JsonObject,
  context: InboundContext,
  options: { readonly added: boolean; readonly now: number; readonly source: string; readonly user?: JsonObject },
): InboundMessage {
  const targetId = requireId(event['message_id'], 'message id');
  const senderId = requireId(event['user_id'], 'user id');
  const emoji = obj(event['emoji']);
  const name = (str(emoji['name']) ?? '').slice(0, 64);
  const text = snowflake(emoji['id']) === undefined ? name : `:${name}:`;
  const member = obj(event['member']);
  const platformId = `${targetId}:reaction:${shortHash(`${options.source} ${senderId} ${text} ${options.added}`)}`;
  const author = { ...options.user, ...obj(member['user']), id: senderId };
  const refusal = refusalOf(author, {}, context.to.account, false);
  return {
    ...nobody(context, platformId, options.now),
    kind: 'reaction',
    targetId,
    senderId,
    senderName: displayName(author, member),
    text: options.added ? text : '',
    ...(refusal && { refusal }),
  };
}

/** Stands for an event that could not be read, so that it is counted and the rest goes on. */
export function unreadable(channel: string, account: string, source: string, now: number): InboundMessage {
  return unreadableMessage({ channel, account, platformId: `event:${source}` }, now);
}

/** A message that no one is named as the author of. */
export function nobody(context: InboundContext, platformId: string, timestamp: number): InboundMessage {
  const { channel, to, place } = context;
  const facts = { ...chatOf(place), platformId, senderId: UNKNOWN_SENDER, isGroup: place.guildId !== undefined, timestamp };
  return inboundMessage({ channel, account: to.account }, facts);
}

function readMessage(message: JsonObject, context: InboundContext): InboundMessage {
  const id = requireId(message['id'], 'message id');
  const author = obj(message['author']);
  const senderId = requireId(author['id'], 'author id');
  const { to, nameOf, place } = context;
  const said = readText(message, to, nameOf);
  const isCalled = said.mentioned || (context.isFollowed === true && namesNobodyElse(message, to.account));
  const own = filesOf(message, { channelId: place.id, id });
  const brought = isCalled || place.guildId === undefined ? filesBeside(message, context, own.length === 0) : [];
  const media = [...own, ...brought];
  const pieces = piecesOf(message, said.text, nameOf);
  const written = composed(...pieces);
  const isSilent = written.text === '' && media.length === 0;
  // A line above it would make a command an ordinary text.
  const { post } = context;
  const isTitled = post?.ownerId === senderId && !isSilent && !written.text.startsWith('/');
  const content = isTitled ? composed(ours(titleOf(post)), ...pieces) : written;
  const isWritten = WRITTEN.has(num(message['type']) ?? 0);
  const replyTo = quotedOf(message, context, senderId);
  // In a thread that is followed, words that the platform withholds are no call by the bare name.
  const saysNothing = isEmpty({ ...written, media, mentionsBot: said.mentioned, replyTo });
  const refusal = refusalOf(author, message, to.account, !isWritten || saysNothing);
  const senderName = displayName(author, obj(message['member']));
  // A command needs no place of its own, and what it changes is the channel's conversation.
  const opensThread = context.opensThreads === true && isWritten && !written.text.startsWith('/');
  return {
    ...nobody(context, id, timeOf(id)),
    senderId,
    senderName,
    // A thread has the id of its message.
    ...(opensThread && { threadId: id, startsThread: true as const }),
    ...(isWritten ? content : { text: '' }),
    media: isWritten ? media : [],
    ...(replyTo && { replyTo }),
    mentionsBot: isCalled,
    ...(refusal && { refusal }),
    // In a private chat a reference to the message above would only be noise.
    ...(place.guildId !== undefined && {
      replyContext: { messageId: id, ...(opensThread && { thread: threadName(message, senderName) }) },
    }),
  };
}

function refusalOf(author: JsonObject, message: JsonObject, account: string, empty: boolean): RefusalReason | undefined {
  if (author['id'] === account) return 'own-message';
  // Webhooks, other bots and the platform itself have no person behind them (reliability.md A5).
  const webhook = message['webhook_id'] !== undefined && message['webhook_id'] !== null;
  if (webhook || author['bot'] === true || author['system'] === true) return 'bot-author';
  return empty ? 'empty' : undefined;
}
