/** A decrypted WhatsApp message -> `InboundMessage`. */
import type { proto, WAMessage } from '@whiskeysockets/baileys';
import { shortHash } from '../../../src/core/ids.ts';
import type { InboundMessage, QuotedMessage, RefusalReason } from '../../../src/core/message.ts';
import { writtenBy } from '../../../src/lib/marks.ts';
import { inboundMessage } from '../../kit/inbound-message.ts';
import { composed, label, ours } from '../../kit/senders-words.ts';
import { bareJid, isMe, type Me, mentionedId, type Pins, parseJid, personId } from '../wire/ids.ts';
import { kindsIn, readContent, type Said } from './inbound-content.ts';
import { SILENT } from './kind-words.ts';

export interface InboundContext {
  /** Instance name and account of the channel. */
  readonly channel: string;
  readonly account: string;
  readonly me: Me;
  readonly pins: Pins;
  /**
   * Set where the chat of the account with itself is read: whether the daemon sent the message with this id.
   * Absent: whatever the account writes is its own.
   */
  readonly isSent?: (id: string) => boolean;
}

/** Values of `ProtocolMessage.Type` (WAProto). */
const REVOKE = 0;
const EDIT = 14;
const NOTHING_SAID: Said = { text: '', note: '', media: [], context: undefined, content: {} };
const VIEW_ONCE: Said = { ...NOTHING_SAID, note: '[view-once media, not available here]' };
/** Long enough to recognise what is answered. */
const QUOTE_CHARS = 200;

interface Place {
  readonly chatId: string;
  /** How it was addressed, which is how the answer is addressed. */
  readonly jid: string;
  readonly senderId: string;
  readonly isGroup: boolean;
  readonly fromMe: boolean;
  /** Written by the person of the account in the chat with themselves, and not by us. */
  readonly isSelf: boolean;
  readonly isPerson: boolean;
}

/**
 * Undefined for what is no message of anybody: keys, settings, status updates, newsletters. `others` become
 * part of it: an album.
 */
export function toInbound(
  message: WAMessage,
  context: InboundContext,
  others: readonly proto.IMessage[] = [],
): InboundMessage | undefined {
  const place = placeOf(message, context);
  if (!place || message.category === 'peer') return undefined;
  if (!message.message && message.key.isViewOnce) return fromWords(message, place, VIEW_ONCE, context);
  if (!message.message) return blank(message, place, context, 'unreadable');
  const said = joinSaid([message.message, ...others].map(readContent), context.me);
  const { protocolMessage, reactionMessage, secretEncryptedMessage } = said.content;
  if (protocolMessage) return fromProtocol(message, place, protocolMessage, context);
  if (reactionMessage) return fromReaction(message, place, reactionMessage, context);
  // An edit under a key that this version of the SDK does not look for.
  if (secretEncryptedMessage) return blank(message, place, context, 'unreadable');
  const silent = isSilent(said);
  if (silent && Object.entries(said.content).every(([name, value]) => SILENT.has(name) || value === null || value === undefined))
    return undefined;
  return fromWords(message, place, said, context);
}

/**
 * Stands for a message that could not be read, so that it is counted; undefined when not even its place is
 * known.
 */
export function unreadable(message: WAMessage, context: InboundContext, refusal: RefusalReason): InboundMessage | undefined {
  const place = placeOf(message, context);
  return place && blank(message, place, context, refusal);
}

/**
 * The same for one that the server is asked for again: not under its own name, so that it is no duplicate
 * when it comes.
 */
export function undecryptable({ key, ...message }: WAMessage, context: InboundContext): InboundMessage | undefined {
  return unreadable({ ...message, key: { ...key, id: `${key.id}#undecryptable` } }, context, 'unreadable');
}

/**
 * The name of a message within the account: ids are chosen by senders and unique only together with who
 * wrote where.
 */
export function platformIdOf(chatId: string, authorId: string, id: string): string {
  return `${chatId}:${authorId}:${id}`;
}

/** The inverse of `platformIdOf`; neither chats nor people have a colon in their id. */
export function splitPlatformId(platformId: string): { chatId: string; authorId: string; id: string } | undefined {
  const match = /^([^:]+):([^:]+):(.+)$/s.exec(platformId);
  return match ? { chatId: match[1] ?? '', authorId: match[2] ?? '', id: match[3] ?? '' } : undefined;
}

function placeOf({ key }: WAMessage, { me, pins, account, isSent }: InboundContext): Place | undefined {
  const chat = parseJid(key.remoteJid);
  if (!chat || !key.remoteJid || !key.id || key.remoteJid === 'status@broadcast' || chat.kind === 'newsletter') return undefined;
  const isGroup = chat.kind === 'group';
  // A broadcast list is read like a private message, under the name of who sent it.
  const author = chat.kind === 'broadcast' || isGroup ? key.participant : key.remoteJid;
  const alternative = isGroup ? key.participantAlt : key.remoteJidAlt;
  const fromMe = key.fromMe === true || isMe(author, me);
  // Beside the address of whom our own phone writes to stands ours.
  const person = fromMe ? mentionedId(author, pins) : personId(author, isMe(alternative, me) ? undefined : alternative, pins);
  const isOwnChat = fromMe && isMe(key.remoteJid, me);
  const peer = isOwnChat ? account : fromMe && !isGroup ? mentionedId(key.remoteJid, pins) : person;
  const senderId = fromMe ? account : (person ?? bareJid(author ?? 'unknown@other'));
  const chatId = isGroup ? bareJid(key.remoteJid) : (peer ?? bareJid(key.remoteJid));
  const jid = bareJid(chat.kind === 'broadcast' ? (author ?? key.remoteJid) : key.remoteJid);
  const isSelf = isOwnChat && isSent !== undefined && !isSent(key.id ?? '');
  return { chatId, jid, senderId, isGroup, fromMe, isSelf, isPerson: person !== undefined };
}

/** What every kind has in common. */
function frame(message: WAMessage, place: Place, context: InboundContext): InboundMessage {
  const { chatId, senderId, isGroup } = place;
  return inboundMessage(context, {
    chatId,
    platformId: platformIdOf(chatId, senderId, idOf(message.key.id)),
    senderId,
    senderName: label(message.pushName ?? '', senderId),
    isGroup,
    timestamp: millis(message.messageTimestamp),
  });
}

function blank(message: WAMessage, place: Place, context: InboundContext, refusal: RefusalReason): InboundMessage {
  return { ...frame(message, place, context), refusal };
}

function fromWords(message: WAMessage, place: Place, said: Said, context: InboundContext): InboundMessage {
  const { me } = context;
  const forwarded = said.context?.isForwarded === true || (said.context?.forwardingScore ?? 0) > 0;
  const mention = place.isGroup && !forwarded ? readMention(said, me) : { text: said.text, found: false };
  const forwardMark = forwarded ? ours('[forwarded, not written by the sender]') : undefined;
  // Protocol Buffers take no half of a surrogate pair.
  const shown = shownIn(said).slice(0, QUOTE_CHARS).toWellFormed();
  const quoted = said.context?.quotedMessage ? readContent(said.context.quotedMessage) : undefined;
  const replyTo = quotedOf(said, place, context, quoted);
  // Who asks about a picture points at it. What people merely say to each other brings no files.
  const asks = !place.isGroup || mention.found || replyTo?.fromBot === true;
  const media = asks && replyTo && said.media.length === 0 ? (quoted?.media ?? []) : said.media;
  const written = composed(forwardMark, mention.text, ours(said.note));
  const refusal = refusalOf(place, isSilent(said));
  return {
    ...frame(message, place, context),
    ...written,
    media,
    ...(replyTo && { replyTo }),
    mentionsBot: mention.found,
    ...(refusal && { refusal }),
    replyContext: {
      jid: place.jid,
      id: message.key.id ?? '',
      ...(place.isGroup && message.key.participant && { participant: bareJid(message.key.participant) }),
      ...(shown !== '' && { text: shown }),
    },
  };
}

/** An edit or a deletion by the author; anything else of this kind is between devices. */
function fromProtocol(
  message: WAMessage,
  place: Place,
  protocol: proto.Message.IProtocolMessage,
  context: InboundContext,
): InboundMessage | undefined {
  const { key, editedMessage } = protocol;
  const type = protocol.type ?? REVOKE;
  if (!key?.id || (type !== REVOKE && type !== EDIT)) return undefined;
  // No person changes what another wrote. That an administrator may delete cannot be checked here, so it is
  // not done.
  if (place.isGroup && key.participant && mentionedId(key.participant, context.pins) !== place.senderId && !place.fromMe)
    return undefined;
  const targetId = platformIdOf(place.chatId, place.senderId, idOf(key.id));
  // On their phone a person may change what we wrote in the chat with themselves: it is no word to us.
  const isOurs = context.isSent?.(key.id) === true;
  const refusal = isOurs ? 'own-message' : refusalOf(place, false);
  // What answered the message stands under this address, and is changed there.
  const base = { ...frame(message, place, context), targetId, replyContext: { jid: place.jid }, ...(refusal && { refusal }) };
  if (type === REVOKE) return { ...base, kind: 'delete' };
  if (!editedMessage) return undefined;
  const said = readContent(editedMessage);
  const mention = place.isGroup ? readMention(said, context.me) : { text: said.text, found: false };
  return { ...base, kind: 'edit', ...composed(mention.text, ours(said.note)), mentionsBot: mention.found };
}

function fromReaction(
  message: WAMessage,
  place: Place,
  { key, text }: proto.Message.IReactionMessage,
  context: InboundContext,
): InboundMessage | undefined {
  if (!key?.id) return undefined;
  // The key is written from the view of who reacts: theirs, or that of the other one here.
  const other = place.isGroup ? authorOf(key.participant, context) : place.fromMe ? place.chatId : context.account;
  const author = key.fromMe ? place.senderId : other;
  const refusal = refusalOf(place, false);
  return {
    ...frame(message, place, context),
    kind: 'reaction',
    targetId: platformIdOf(place.chatId, author, idOf(key.id)),
    text: (text ?? '').slice(0, 64),
    ...(refusal && { refusal }),
  };
}

/** Words and notes, as people see them. */
function shownIn({ text, note }: Said): string {
  return [text, note].filter((line) => line !== '').join('\n');
}

/** The same with the kinds of its files, whose keys an app may leave out of what it repeats. */
function wordsIn(said: Said): string {
  return [...kindsIn(said.content).map((kind) => `[${kind}]`), shownIn(said)].filter((line) => line !== '').join('\n');
}

function isSilent(said: Said): boolean {
  return shownIn(said) === '' && said.media.length === 0;
}

/** With the context that mentions us, if there is one: it may stand in any of them. */
function joinSaid(all: readonly Said[], me: Me): Said {
  const [first = NOTHING_SAID] = all;
  if (all.length < 2) return first;
  const lines = (name: 'text' | 'note') => all.map((said) => said[name]).filter((line) => line !== '');
  const mention = all.find(({ context }) => context?.mentionedJid?.some((jid) => isMe(jid, me)));
  return {
    ...first,
    text: lines('text').join('\n'),
    note: lines('note').join('\n'),
    media: all.flatMap(({ media }) => media),
    context: mention?.context ?? first.context,
  };
}

/** `quoted`: what the sender's app says that the message was. */
function quotedOf(said: Said, place: Place, context: InboundContext, quoted: Said | undefined): QuotedMessage | undefined {
  const { stanzaId, participant, remoteJid } = said.context ?? {};
  if (!stanzaId) return undefined;
  const author = participant ? authorOf(participant, context) : place.isGroup ? 'unknown' : place.chatId;
  // In the chat with oneself both sides are the same account.
  const fromBot = author === context.account && (!place.isSelf || context.isSent?.(stanzaId) === true);
  const elsewhere = remoteJid && bareJid(remoteJid) !== place.jid ? bareJid(remoteJid) : undefined;
  const text = quoted ? wordsIn(quoted) : '';
  const own = author === place.senderId || fromBot;
  const origin = elsewhere ? 'quoted from another chat' : own ? undefined : writtenBy(author);
  return {
    platformId: platformIdOf(elsewhere ?? place.chatId, author, idOf(stanzaId)),
    ...(text && { text }),
    ...(text && origin && { origin }),
    ...(text && !own && author !== 'unknown' && { authorId: author }),
    fromBot: fromBot && !elsewhere,
    // The quoted message lies within the message, as the sender's app put it there.
    ...(text && { isRepeated: true }),
  };
}

function authorOf(jid: string | null | undefined, { me, account, pins }: InboundContext): string {
  if (isMe(jid, me)) return account;
  return mentionedId(jid, pins) ?? 'unknown';
}

/**
 * The text without mentions of us, `@<digits of our number or LID>`, and whether the message names us as
 * mentioned.
 */
function readMention({ text, context }: Said, me: Me): { readonly text: string; readonly found: boolean } {
  const mentioned = (context?.mentionedJid ?? []).some((jid) => isMe(jid, me));
  if (!mentioned) return { text, found: false };
  const names = [me.phone, ...(me.lid === undefined ? [] : [me.lid])].join('|');
  const without = text.replace(new RegExp(`@(?:${names})(?!\\d)[,:]?[ \\t]?`, 'g'), '');
  return { text: without.trim(), found: true };
}

function refusalOf({ fromMe, isSelf, isPerson }: Place, empty: boolean): RefusalReason | undefined {
  // Also what the owner of the account writes on the phone: to other people, and not to us.
  if (fromMe && !isSelf) return 'own-message';
  if (!isPerson && !isSelf) return 'bot-author';
  return empty ? 'empty' : undefined;
}

/** Senders choose their ids. */
function idOf(id: string | null | undefined): string {
  const text = id ?? 'unknown';
  return text.length <= 128 ? text : `${text.slice(0, 64)}#${shortHash(text)}`;
}

function millis(seconds: WAMessage['messageTimestamp']): number {
  const value = typeof seconds === 'object' ? Number(seconds) : seconds;
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) * 1_000 : 0;
}
