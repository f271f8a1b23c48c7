/**
 * Messages that are neither text nor a file -> everything of them that people see: words of people, and a
 * mark that names the kind. What kinds there are, and where their words stand: WAProto.proto of Baileys;
 * WhatsApp documents none of it.
 */
import type { proto } from '@whiskeysockets/baileys';
import { bracketNote } from '../../kit/senders-words.ts';
import { businessWords, type KindWords } from './business-words.ts';

type Content = proto.IMessage;
type Time = number | { toString(): string } | null | undefined;

type Inner = (message: Content | null | undefined) => KindWords;

const NOTHING: KindWords = { text: '', note: '' };
/** Of `contactsArrayMessage`. */
const MOST_CONTACTS = 20;
const MAX_DEPTH = 4;

/** In a message beside what it says, or instead: nothing a person wrote. */
export const SILENT: ReadonlySet<string> = new Set([
  'senderKeyDistributionMessage',
  'fastRatchetKeySenderKeyDistributionMessage',
  'messageContextInfo',
  'protocolMessage',
  'albumMessage',
  'pollUpdateMessage',
  'keepInChatMessage',
  'pinInChatMessage',
  'encReactionMessage',
  'encEventResponseMessage',
  'messageHistoryNotice',
  'placeholderMessage',
]);
/** Told by text, files or a reaction, or what linked devices cannot read. */
const WORDLESS: ReadonlySet<string> = new Set([
  'conversation',
  'extendedTextMessage',
  'imageMessage',
  'videoMessage',
  'ptvMessage',
  'audioMessage',
  'documentMessage',
  'reactionMessage',
  'stickerSyncRmrMessage',
  'messageHistoryBundle',
  'statusNotificationMessage',
  'statusStickerInteractionMessage',
  'secretEncryptedMessage',
  'encCommentMessage',
  'chat',
]);

/** Empty for a message that its text and files tell completely, and for what no person wrote. */
export function kindWords(content: Content, depth = 0): KindWords {
  const inner = (message: Content | null | undefined): KindWords => {
    if (!message || depth >= MAX_DEPTH) return NOTHING;
    const text = message.conversation ?? message.extendedTextMessage?.text;
    return typeof text === 'string' ? { text, note: '' } : kindWords(message, depth + 1);
  };
  const note = placeNote(content) ?? pollNote(content) ?? socialNote(content) ?? moneyNote(content, inner);
  if (note !== undefined) return { text: '', note };
  const answer = answerWords(content, inner) ?? businessWords(content);
  if (answer) return answer;
  const unknown = Object.entries(content).find(([name, value]) => value && !WORDLESS.has(name) && !SILENT.has(name));
  return unknown ? { text: '', note: bracketNote(nameOf(unknown[0])) } : NOTHING;
}

/** Of other messages. */
function answerWords(content: Content, inner: Inner): KindWords | undefined {
  if (content.commentMessage) {
    const comment = inner(content.commentMessage.message);
    return comment.text === '' && comment.note === '' ? { text: '', note: '[comment]' } : comment;
  }
  const answer = content.questionResponseMessage ?? content.statusQuestionAnswerMessage ?? content.statusQuotedMessage;
  if (!answer) return undefined;
  return answer.text ? { text: answer.text, note: '' } : { text: '', note: '[answer]' };
}

/** `requestPhoneNumberMessage` -> `request phone number`, for a kind without words, or one that is new. */
function nameOf(field: string): string {
  const name = field.replace(/Mess+age(?:V\d+)?$/, '');
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim();
}

function placeNote({ locationMessage, liveLocationMessage, contactMessage, contactsArrayMessage, stickerMessage }: Content) {
  if (stickerMessage) return '[sticker]';
  if (locationMessage) {
    const { name, address, comment, url } = locationMessage;
    return bracketNote('location', name, address, comment, pointOf(locationMessage), url);
  }
  if (liveLocationMessage) return bracketNote('live location', liveLocationMessage.caption, pointOf(liveLocationMessage));
  if (contactMessage) return contactOf(contactMessage);
  if (!contactsArrayMessage) return undefined;
  const contacts = contactsArrayMessage.contacts ?? [];
  const left = contacts.length - MOST_CONTACTS;
  const more = left > 0 ? [`[${left} more contacts left out]`] : [];
  if (contacts.length === 0) return bracketNote('contacts', contactsArrayMessage.displayName);
  return [...contacts.slice(0, MOST_CONTACTS).map(contactOf), ...more].join('\n');
}

function pointOf(at: { degreesLatitude?: number | null; degreesLongitude?: number | null }): string {
  return `(${at.degreesLatitude ?? 0}, ${at.degreesLongitude ?? 0})`;
}

function contactOf({ displayName, vcard }: proto.Message.IContactMessage): string {
  const phones = [...(vcard ?? '').slice(0, 10_000).matchAll(/^(?:item\d+\.)?TEL[^:\n]{0,200}:(.{1,40})$/gim)].map(
    (match) => match[1],
  );
  return bracketNote('contact', displayName, ...phones.slice(0, 5));
}

function pollNote(content: Content): string | undefined {
  const { pollCreationMessage, pollCreationMessageV2, pollCreationMessageV3, pollCreationMessageV5 } = content;
  const poll = pollCreationMessage ?? pollCreationMessageV2 ?? pollCreationMessageV3 ?? pollCreationMessageV5;
  if (poll) return bracketNote('poll', poll.name, ...(poll.options ?? []).map(({ optionName }) => `| ${optionName ?? ''}`));
  const result = content.pollResultSnapshotMessage ?? content.pollResultSnapshotMessageV3;
  if (!result) return undefined;
  const votes = (result.pollVotes ?? []).map(
    ({ optionName, optionVoteCount }) => `| ${optionName ?? ''}: ${optionVoteCount ?? 0}`,
  );
  return bracketNote('result of a poll', result.name, ...votes);
}

function socialNote(content: Content): string | undefined {
  const { eventMessage, groupInviteMessage, stickerPackMessage, callLogMesssage, scheduledCallCreationMessage } = content;
  if (eventMessage) {
    const { name, description, location, joinLink, startTime, endTime, isCanceled } = eventMessage;
    const place = location ? [location.name, location.address] : [];
    const time = [prefixed('from', startTime, 1_000), prefixed('to', endTime, 1_000)];
    return bracketNote(isCanceled ? 'event that was cancelled' : 'event', name, ...time, ...place, joinLink, description);
  }
  if (groupInviteMessage) return bracketNote('invitation to the group', groupInviteMessage.groupName, groupInviteMessage.caption);
  const channel = content.newsletterFollowerInviteMessageV2 ?? content.newsletterAdminInviteMessage;
  if (channel) return bracketNote('invitation to the channel', channel.newsletterName, channel.caption);
  if (stickerPackMessage) {
    const { name, publisher, caption } = stickerPackMessage;
    return bracketNote('stickers', name, publisher ? `by ${publisher}` : undefined, caption);
  }
  if (callLogMesssage || content.call || content.bcallMessage) {
    const seconds = Number(callLogMesssage?.durationSecs ?? 0);
    const kind = callLogMesssage?.isVideo ? 'video call' : 'call';
    return bracketNote(kind, content.bcallMessage?.caption, seconds > 0 ? `of ${seconds} s` : undefined);
  }
  if (scheduledCallCreationMessage) {
    const { title, scheduledTimestampMs } = scheduledCallCreationMessage;
    return bracketNote('scheduled call', title, prefixed('from', scheduledTimestampMs, 1));
  }
  return undefined;
}

function prefixed(word: string, time: Time, unitMs: number): string | undefined {
  const at = Number(time ?? 0) * unitMs;
  if (!(at > 0 && at < 8.64e15)) return undefined;
  return `${word} ${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Sums are in thousandths. */
export function sumOf(thousandths: Time, currency: string | null | undefined): string | undefined {
  const sum = Number(thousandths ?? 0) / 1_000;
  return Number.isFinite(sum) && sum !== 0 ? `${sum.toFixed(2)} ${currency ?? ''}`.trim() : undefined;
}

function moneyNote(content: Content, inner: Inner): string | undefined {
  const { productMessage, orderMessage, invoiceMessage, sendPaymentMessage, requestPaymentMessage } = content;
  if (productMessage) {
    const { product, catalog, body, footer } = productMessage;
    const price = sumOf(product?.priceAmount1000, product?.currencyCode);
    const shown = product ?? catalog;
    return bracketNote('product', shown?.title, price, shown?.description, product?.url, body, footer);
  }
  if (orderMessage) {
    const { orderTitle, itemCount, message, totalAmount1000, totalCurrencyCode } = orderMessage;
    const items = itemCount ? `${itemCount} ${itemCount === 1 ? 'item' : 'items'}` : undefined;
    return bracketNote('order', orderTitle, items, sumOf(totalAmount1000, totalCurrencyCode), message);
  }
  if (invoiceMessage) return bracketNote('invoice', invoiceMessage.note);
  if (sendPaymentMessage) return bracketNote('payment', ...shown(inner(sendPaymentMessage.noteMessage)));
  if (requestPaymentMessage) {
    const { amount1000, currencyCodeIso4217, noteMessage } = requestPaymentMessage;
    return bracketNote('request for a payment', sumOf(amount1000, currencyCodeIso4217), ...shown(inner(noteMessage)));
  }
  return undefined;
}

function shown({ text, note }: KindWords): readonly string[] {
  return [text, note];
}
