/** `OutboundPart` -> one message of the platform, and the outcome of sending it -> `SendResult`. */
import { hash } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import type { SendResult } from '../../../src/core/channel.ts';
import type { Json, OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import type { CallFailure } from '../../kit/call-error.ts';
import { sendResultOf } from '../../kit/call-result.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import { ADDRESSING_CHANGED } from '../wire/failure.ts';
import { jidOf, type Pins } from '../wire/ids.ts';
import type { StoredFile } from '../wire/media.ts';
import type { StoredKind } from '../wire/media-ref.ts';
import { toWhatsApp } from './format.ts';

/** Larger ones are refused by some apps. */
const PHOTO_BYTES = PLATFORM_LIMITS.photo.value;
const VIDEO_BYTES = PLATFORM_LIMITS.video.value;

/**
 * Our own id for a message, the same for every attempt at the same part: apps and server show one message per
 * id. The prefix and the length are those of WhatsApp Web.
 */
export function messageId(key: string): string {
  return `3EB0${hash('sha256', `gatehouse:${key}`).slice(0, 18).toUpperCase()}`;
}

const OWN = 'gatehouse, to itself:';

/**
 * The same for a message in the chat of the account with itself, where what we write comes back as written by
 * the account. It shows whose it is without a memory: its end is made of its beginning. Every daemon on the
 * account knows it, also one that was linked anew.
 */
export function ownMessageId(key: string): string {
  const start = `3EB0${hash('sha256', `gatehouse:${key}`).slice(0, 10).toUpperCase()}`;
  return `${start}${endOf(start)}`;
}

/** Whether `ownMessageId` made this id; of others one in four thousand million is taken for one. */
export function isOwnMessageId(id: string): boolean {
  return /^3EB0[0-9A-F]{18}$/.test(id) && id.slice(14) === endOf(id.slice(0, 14));
}

function endOf(start: string): string {
  return hash('sha256', `${OWN}${start}`).slice(0, 8).toUpperCase();
}

/**
 * The chat as the message came that is answered. Where none is, the LID of the person: their number may
 * belong to another person by now.
 */
export function targetOf(part: Pick<OutboundPart, 'chatId' | 'replyContext'>, pins: Pick<Pins, 'lidOf'>): string {
  const jid = text(part.replyContext?.['jid']);
  if (jid !== undefined) return jid;
  const lid = pins.lidOf(part.chatId);
  return lid === undefined ? jidOf(part.chatId) : `${lid}@lid`;
}

/** Plain text goes as it stands. The apps read its marks all the same: the platform knows no other text. */
export function wordsOf(part: Pick<OutboundPart, 'text'>, plain: boolean): Promise<string> | string {
  return plain ? part.text : toWhatsApp(part.text);
}

export function toMessage(part: OutboundPart, words: string, stored: StoredFile | undefined): proto.IMessage {
  const contextInfo = quoteOf(part);
  const context = contextInfo && { contextInfo };
  if (!part.file || !stored) return { extendedTextMessage: { text: words, ...context } };
  const { file } = part;
  const common = { ...stored, mimetype: file.mime, mediaKeyTimestamp: 0, ...context };
  const caption = words === '' ? {} : { caption: words };
  switch (sentAs(file, words)) {
    case 'image':
      return { imageMessage: { ...common, ...caption } };
    case 'video':
      return { videoMessage: { ...common, ...caption } };
    case 'voice':
      // Only OGG with OPUS plays as a voice note, and only under this very type.
      return { audioMessage: { ...common, mimetype: 'audio/ogg; codecs=opus', ptt: true } };
    case 'audio':
      return { audioMessage: common };
    case 'document': {
      const documentMessage = { ...common, ...caption, fileName: file.name, title: file.name };
      return words === '' ? { documentMessage } : { documentWithCaptionMessage: { message: { documentMessage } } };
    }
  }
}

type SentAs = 'image' | 'video' | 'voice' | 'audio' | 'document';

function sentAs({ kind, mime, bytes }: OutboundFile, words: string): SentAs {
  const type = mime.toLowerCase();
  // A sound carries no words: with some it goes as a document.
  if (type.startsWith('audio/') && words !== '') return 'document';
  if (kind === 'photo' && /^image\/(?:jpeg|png)$/.test(type) && bytes <= PHOTO_BYTES) return 'image';
  if (kind === 'voice' && /^audio\/(?:ogg|opus)/.test(type)) return 'voice';
  if ((kind === 'voice' || kind === 'audio') && type.startsWith('audio/')) return 'audio';
  if (kind === 'video' && type === 'video/mp4' && bytes <= VIDEO_BYTES) return 'video';
  return 'document';
}

/** How the file is encrypted for the message that `toMessage` makes of it. */
export function storedAs(file: OutboundFile, words: string): StoredKind {
  const as = sentAs(file, words);
  return as === 'voice' ? 'audio' : as;
}

/** A later one than `limits.editMs` allows is shown by no app. */
export function toEdit(jid: string, id: string, words: string, now: number): proto.IMessage {
  return {
    protocolMessage: {
      key: { remoteJid: jid, fromMe: true, id },
      // ProtocolMessage.Type.MESSAGE_EDIT
      type: 14,
      editedMessage: { extendedTextMessage: { text: words } },
      timestampMs: now,
    },
  };
}

/** Takes a message of ours away for all who read it. */
export function toRevoke(jid: string, id: string): proto.IMessage {
  // ProtocolMessage.Type.REVOKE
  return { protocolMessage: { key: { remoteJid: jid, fromMe: true, id }, type: 0 } };
}

/**
 * An empty `emoji` takes the reaction away. `author` is the address of the message's author, in a group;
 * absent for one of ours.
 */
export function toReaction(
  id: string,
  options: {
    readonly jid: string;
    readonly author: string | undefined;
    readonly fromMe: boolean;
    readonly emoji: string;
    readonly now: number;
  },
): proto.IMessage {
  const { jid, author, fromMe, emoji, now } = options;
  const key = { remoteJid: jid, fromMe, id, ...(author !== undefined && { participant: author }) };
  return { reactionMessage: { key, text: emoji, senderTimestampMs: now } };
}

/** In a group the first part shows what it answers; in a private chat that would only be noise. */
function quoteOf(part: OutboundPart): proto.IContextInfo | undefined {
  const { replyContext, ordinal } = part;
  const [id, participant] = [text(replyContext?.['id']), text(replyContext?.['participant'])];
  if (ordinal !== 0 || id === undefined || participant === undefined) return undefined;
  return { stanzaId: id, participant, quotedMessage: { conversation: text(replyContext?.['text']) ?? '' } };
}

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** What delivery is told about a call that failed. */
export function toSendResult(failure: CallFailure): SendResult {
  return sendResultOf(failure, ({ code, detail }) => refusalOf(Number(code), detail));
}

/** Codes of `<ack error>`, and of `<error code>` for what is asked before a message (WhatsApp Web). */
function refusalOf(code: number, detail: string): SendResult {
  // No wait is stated. Shorter ones are what accounts get banned for.
  if (code === 429) return { kind: 'retry', reason: `too many requests (${detail})`, afterMs: 60_000, scope: 'account' };
  if (code === 401 || code === 403)
    return { kind: 'refused', reason: 'blocked', detail: `not allowed to write there (${detail})` };
  if (code === 404 || code === 410) return { kind: 'refused', reason: 'chat-gone', detail: `there is no such chat (${detail})` };
  if (code === 463) {
    return { kind: 'refused', reason: 'blocked', detail: `the account may not begin new chats at the moment (${detail})` };
  }
  if (code === ADDRESSING_CHANGED) return { kind: 'retry', reason: `the group has changed (${detail})`, scope: 'part' };
  if (code >= 500 && code < 600) return { kind: 'retry', reason: `the server failed (${detail})`, scope: 'part' };
  return { kind: 'refused', reason: 'invalid', detail: `the platform refused the message (${detail})` };
}
