/** An event of the platform -> `InboundMessage`. Pure: what it needs to know about places and roles comes in. */
import { shortHash } from '../../../src/core/ids.ts';
import { type InboundMessage, type QuotedMessage, type RefusalReason, UNKNOWN_SENDER } from '../../../src/core/message.ts';
import { changedMessage, inboundMessage, unreadableMessage } from '../../kit/inbound-message.ts';
import { type JsonObject, num, obj, str } from '../../kit/json.ts';
import { composed, ours, writtenBy } from '../../kit/senders-words.ts';
import { requireId, snowflake, timeOf } from '../wire/ids.ts';
import { mediaOf, noteOf, snapshotsOf } from './inbound-content.ts';
import { type Addressing, displayName, readText } from './inbound-text.ts';
import { chatOf, type Place } from './places.ts';

export interface InboundContext {
  /** Instance name. */
  readonly channel: string;
  readonly to: Addressing;
  /** Where the event took place. */
  readonly place: Place;
}

/** https://discord.com/developers/docs/resources/message#message-object-message-types: what people write, replies included. */
const WRITTEN: ReadonlySet<number> = new Set([0, 19]);
/** A message reference of this type is a forward. */
const FORWARD = 1;

/** MESSAGE_CREATE, or a message of the history. Throws on one that breaks the platform's own schema. */
export function toMessage(message: JsonObject, context: InboundContext): InboundMessage {
  return readMessage(message, context);
}

/** MESSAGE_UPDATE. Undefined where nobody changed anything: the platform tells link previews and pins this way too. */
export function toEdit(message: JsonObject, context: InboundContext): InboundMessage | undefined {
  const edited = Date.parse(str(message['edited_timestamp']) ?? '');
  if (Number.isNaN(edited) || typeof message['content'] !== 'string' || message['author'] === undefined) return undefined;
  const base = readMessage(message, context);
  // Two edits can bear the same time; the hash keeps the later one.
  const platformId = `${base.platformId}:edit:${edited}:${shortHash(message['content'], 8)}`;
  return changedMessage(base, { kind: 'edit', platformId, timestamp: edited });
}

/** MESSAGE_DELETE, one id of MESSAGE_DELETE_BULK. Who deleted is not told; the journal finds whose message it was. */
export function toDelete(messageId: unknown, context: InboundContext, now: number): InboundMessage {
  const targetId = requireId(messageId, 'message id');
  return { ...nobody(context, `${targetId}:delete`, now), kind: 'delete', targetId };
}

/**
 * MESSAGE_REACTION_ADD and _REMOVE. The platform gives these events no id; `source` is the event's place in its session, which
 * is the same when it comes again.
 */
export function toReaction(
  event: JsonObject,
  context: InboundContext,
  options: { readonly added: boolean; readonly now: number; readonly source: string },
): InboundMessage {
  const targetId = requireId(event['message_id'], 'message id');
  const senderId = requireId(event['user_id'], 'user id');
  const emoji = obj(event['emoji']);
  const name = (str(emoji['name']) ?? '').slice(0, 64);
  const text = snowflake(emoji['id']) === undefined ? name : `:${name}:`;
  const member = obj(event['member']);
  const platformId = `${targetId}:reaction:${shortHash(`${options.source} ${senderId} ${text} ${options.added}`)}`;
  const author = { ...obj(member['user']), id: senderId };
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
  const { account } = context.to;
  const forwarded = isForward(message) ? snapshotsOf(message) : [];
  const said = readText(message, context.to);
  const host = { channelId: context.place.id, id };
  const bodies = [message, ...forwarded];
  const media = bodies.flatMap((body) => mediaOf(body, host));
  const content = composed(
    said.text,
    ours(noteOf(message)),
    // Another person wrote it: a name in it addresses nobody here (reliability.md A4).
    ...forwarded.flatMap((body) => [
      ours('[forwarded, not written by the sender]'),
      readText(body, NOBODY).text,
      ours(noteOf(body)),
    ]),
  );
  const written = WRITTEN.has(num(message['type']) ?? 0);
  const refusal = refusalOf(author, message, account, !written || (content.text === '' && media.length === 0));
  const replyTo = quotedOf(message, account, senderId);
  return {
    ...nobody(context, id, timeOf(id)),
    senderId,
    senderName: displayName(author, obj(message['member'])),
    ...(written ? content : { text: '' }),
    media: written ? media : [],
    ...(replyTo && { replyTo }),
    mentionsBot: said.mentioned,
    ...(refusal && { refusal }),
    // In a private chat a reference to the message above would only be noise.
    ...(context.place.guildId !== undefined && { replyContext: { messageId: id } }),
  };
}

const NOBODY: Addressing = { account: '', roles: new Set(), everyone: false };

function refusalOf(author: JsonObject, message: JsonObject, account: string, empty: boolean): RefusalReason | undefined {
  if (author['id'] === account) return 'own-message';
  // Webhooks, other bots and the platform itself have no person behind them (reliability.md A5).
  const webhook = message['webhook_id'] !== undefined && message['webhook_id'] !== null;
  if (webhook || author['bot'] === true || author['system'] === true) return 'bot-author';
  return empty ? 'empty' : undefined;
}

function isForward(message: JsonObject): boolean {
  return num(obj(message['message_reference'])['type']) === FORWARD;
}

function quotedOf(message: JsonObject, account: string, senderId: string): QuotedMessage | undefined {
  const reference = obj(message['message_reference']);
  const platformId = snowflake(reference['message_id']);
  if (platformId === undefined || num(message['type']) !== 19 || isForward(message)) return undefined;
  // Null when it was deleted, absent when the platform did not look.
  const quoted = obj(message['referenced_message']);
  const author = obj(quoted['author']);
  const fromBot = author['id'] === account;
  const text = [readText(quoted, NOBODY).text, noteOf(quoted)].filter((line) => line).join('\n');
  const own = fromBot || author['id'] === senderId || text === '';
  return { platformId, ...(text !== '' && { text }), ...(!own && { origin: writtenBy(displayName(author)) }), fromBot };
}
