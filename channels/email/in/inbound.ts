/** One mail -> one InboundMessage. Pure: bytes and facts in, a message or a refusal out. */
import { createHash } from 'node:crypto';
import { messageKey } from '../../../src/core/ids.ts';
import type { InboundMessage, MediaKind, MediaRef, RefusalReason } from '../../../src/core/message.ts';
import { mark } from '../../../src/lib/marks.ts';
import { composed, ours } from '../../kit/senders-words.ts';
import { messageIds, readOwnId, threadOf } from '../wire/thread.ts';
import { isAuthentic } from './authentication.ts';
import { type Author, authorOf } from './author.ts';
import { automaticSign } from './automatic.ts';
import { mailText, wholeText } from './mail-text.ts';
import { BODY_INDEX, type MailAttachment, type MailHeader, type ParsedMail, parseHeaders, parseMail } from './mime.ts';

/** A mail with more files is mail-merge or an attack; the rest is named in a note. */
const MAX_MEDIA = 30;
/**
 * Characters of a chain. A reply repeats it, and servers refuse mail for its headers: postfix and others from
 * 100 kB on.
 */
const MAX_CHAIN_CHARS = 6_000;

export interface InboundOptions {
  readonly channel: string;
  /** `from_address`, lower case. */
  readonly account: string;
  readonly trustFrom: boolean;
  readonly authservId: string | undefined;
  readonly maxBodyChars: number;
  /** A larger text is not offered as a file. */
  readonly maxFileBytes: number;
}

/** What the server says about a mail besides its bytes. */
export interface MailFacts {
  readonly uidValidity: string;
  readonly uid: number;
  /** When the server received it, epoch ms. */
  readonly receivedAt: number;
  /** Bytes on the server. */
  readonly size: number;
  /** What the mail itself says, epoch ms; absent when it was not asked for, or is no date. */
  readonly writtenAt?: number;
}

/**
 * Whether one more mail of this chat may be answered: asked once its sender is believed, before its body is
 * read.
 */
export type Admit = (message: Pick<InboundMessage, 'chatId' | 'threadId' | 'platformId' | 'timestamp'>) => boolean;

/** Never rejects: a mail that cannot be parsed is a refused message, so that it cannot stop the mailbox. */
export async function toInbound(
  raw: Uint8Array,
  facts: MailFacts,
  options: InboundOptions,
  admit: Admit = () => true,
): Promise<InboundMessage> {
  try {
    // Headers first: a stranger's body costs nothing when its sender is not believed.
    const headers = await parseHeaders(raw);
    const from = authorOf(headers);
    if (!from) return refused(facts, options, 'forged-sender');
    const refusal = refusalOf(headers, from.address, options);
    if (refusal) return { ...refused(facts, options, refusal), chatId: from.address, senderId: from.address };
    const place = placeOf({ raw, headers, from, options });
    const { address: chatId } = from;
    const { threadId, platformId, timestamp } = { ...place, ...envelope(facts, options) };
    if (!admit({ chatId, platformId, timestamp, ...(threadId === undefined ? {} : { threadId }) }))
      return {
        ...refused(facts, options, 'loop-cap'),
        chatId,
        senderId: chatId,
        ...(threadId === undefined ? {} : { threadId }),
      };
    return accepted({ mail: await parseMail(raw), place, from, facts, options });
  } catch {
    return refused(facts, options, 'unreadable');
  }
}

/** A mail known only by its size or its broken form. Its author is not known, so it belongs to no chat. */
export function refused(facts: MailFacts, options: InboundOptions, refusal: RefusalReason): InboundMessage {
  return {
    ...envelope(facts, options),
    chatId: 'unknown',
    senderId: 'unknown',
    senderName: '',
    text: '',
    media: [],
    refusal,
  };
}

function envelope(facts: MailFacts, { channel, account }: InboundOptions) {
  const platformId = `${facts.uidValidity}:${facts.uid}`;
  return {
    ...{ id: messageKey({ channel, account, platformId }), kind: 'message' as const, channel, account, platformId },
    ...{ isGroup: false, mentionsBot: false, timestamp: facts.receivedAt },
  };
}

function refusalOf(headers: readonly MailHeader[], from: string, options: InboundOptions): RefusalReason | undefined {
  const id = messageIds(header(headers, 'message-id'))[0];
  if (from === options.account || (id !== undefined && readOwnId(id, options.account))) return 'own-message';
  if (automaticSign(headers, from) !== undefined) return 'automatic-mail';
  if (options.trustFrom) return undefined;
  const { authservId } = options;
  return authservId !== undefined && isAuthentic(headers, authservId, from) ? undefined : 'forged-sender';
}

/** Where a mail belongs, by its header alone. */
interface Place {
  readonly ownId: string | undefined;
  readonly secondaryId: string;
  readonly chain: readonly string[];
  readonly threadId: string | undefined;
  /** It answers a mail that is not ours: its subject may be another person's. */
  readonly answersOthers: boolean;
}

/** For the gate as for the model. */
const OF_OTHERS = '[about another mail: not all of this is in the words of the sender]';

interface PlacedMail {
  readonly raw: Uint8Array;
  readonly headers: readonly MailHeader[];
  readonly from: Author;
  readonly options: InboundOptions;
}

function placeOf({ raw, headers, from, options }: PlacedMail): Place {
  const ownId = messageIds(header(headers, 'message-id'))[0];
  const chain = chainOf(headers);
  const digest = ownId === undefined ? `sum:${createHash('sha256').update(raw).digest('hex')}` : undefined;
  // Bound to the author: nobody can have another's mail taken for a duplicate by using its id first.
  const secondaryId = digest ?? `mid:${from.address}:${ownId}`;
  const parent = messageIds(header(headers, 'in-reply-to'))[0] ?? chain.at(-1);
  return {
    ...{ ownId, secondaryId, chain, threadId: threadOf(chain, ownId ?? secondaryId, options.account) },
    answersOthers: parent !== undefined && readOwnId(parent, options.account) === undefined,
  };
}

interface AcceptedMail {
  readonly mail: ParsedMail;
  readonly place: Place;
  readonly from: Author;
  readonly facts: MailFacts;
  readonly options: InboundOptions;
}

function accepted({ mail, place, from, facts, options }: AcceptedMail): InboundMessage {
  const { ownId, secondaryId, chain, threadId } = place;
  const name = oneLine(from.name, 100);
  const subject = oneLine(mail.subject, 500);
  const { account, maxBodyChars: maxChars } = options;
  const { pieces, isPart, isQuoting } = mailText(mail, { subject, account, isReply: chain.length > 0, maxChars });
  const whole = isPart ? wholeOf(mail, facts, options.maxFileBytes) : undefined;
  // A file that comes along says the same.
  const isOthers = whole === undefined && (isQuoting || place.answersOthers);
  const attached = mail.attachments.slice(0, MAX_MEDIA).map((attachment) => toMedia(attachment, facts));
  // First: only the first files of a message are fetched.
  const media = whole === undefined ? attached : [whole, ...attached];
  const dropped = mail.attachments.length - attached.length;
  const note = dropped > 0 ? `[${dropped} more attachments not shown]` : '';
  const about = [subject === '' ? '' : mark(`Subject: ${subject}`), isOthers ? OF_OTHERS : ''].filter((line) => line !== '');
  const content = composed(ours(about.join('\n')), ...pieces, ours(note));
  const empty = content.text === '' && media.length === 0;
  return {
    ...envelope(facts, options),
    secondaryId,
    chatId: from.address,
    ...(threadId === undefined ? {} : { threadId }),
    ...(chain.length === 0 ? { startsThread: true } : {}),
    senderId: from.address,
    senderName: name === '' ? from.address : name,
    ...content,
    media,
    ...(empty ? { refusal: 'empty' as const } : {}),
    replyContext: {
      subject,
      references: ownId === undefined ? chain : [...chain.filter((id) => id !== ownId), ownId],
      ...(ownId === undefined ? {} : { messageId: ownId }),
    },
  };
}

function chainOf(headers: readonly MailHeader[]): readonly string[] {
  const references = messageIds(header(headers, 'references'));
  const inReplyTo = messageIds(header(headers, 'in-reply-to'));
  const [root, ...rest] = new Set([...references, ...inReplyTo.slice(0, 1)]);
  if (root === undefined) return [];
  // The root and the newest: RFC 5322 section 3.6.4 lets a chain be shortened in the middle.
  let room = MAX_CHAIN_CHARS - root.length;
  const first = rest.findLastIndex((id) => {
    room -= id.length + 1;
    return room < 0;
  });
  return [root, ...rest.slice(first + 1)];
}

/**
 * All of a mail's words as a file, fetched like those that came with it. Undefined for one that would be too
 * large.
 */
function wholeOf(mail: ParsedMail, facts: MailFacts, maxBytes: number): MediaRef | undefined {
  const size = Buffer.byteLength(wholeText(mail));
  if (size > maxBytes) return undefined;
  return { kind: 'document', ref: `${facts.uidValidity}:${facts.uid}:${BODY_INDEX}`, name: 'mail.txt', mime: 'text/plain', size };
}

function toMedia({ index, name, mime, bytes }: MailAttachment, facts: MailFacts): MediaRef {
  const shown = oneLine(name ?? '', 200);
  return {
    kind: mediaKind(mime),
    ref: `${facts.uidValidity}:${facts.uid}:${index}`,
    ...(shown === '' ? {} : { name: shown }),
    mime,
    size: bytes.byteLength,
  };
}

/** Only what image viewers decode is a photo: SVG is a document with scripts (attack A23). */
function mediaKind(mime: string): MediaKind {
  if (/^image\/(jpeg|png|gif|webp|heic|bmp)$/.test(mime)) return 'photo';
  if (mime.startsWith('audio/')) return 'audio';
  return mime.startsWith('video/') ? 'video' : 'document';
}

function header(headers: readonly MailHeader[], name: string): string | undefined {
  return headers.find((entry) => entry.name === name)?.value;
}

function oneLine(text: string, max: number): string {
  return text
    .replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim()
    .slice(0, max)
    .replace(/[\ud800-\udbff]$/, '');
}
