/** A webhook's fields, or a record of the list -> `InboundMessage`. Pure. */
import type { InboundMessage, MediaKind, MediaRef, RefusalReason } from '../../../src/core/message.ts';
import { inboundMessage } from '../../kit/inbound-message.ts';
import { composed, ours } from '../../kit/senders-words.ts';
import type { MediaRecord, MessageRecord } from '../wire/client.ts';
import type { Fields } from './request.ts';

export interface InboundContext {
  /** Instance name of the channel. */
  readonly channel: string;
  /** Our number: the account of the channel. */
  readonly number: string;
  readonly accountSid: string;
  /** May a file be said to lie at this host (a name without port)? */
  readonly isMediaHost: (hostname: string) => boolean;
  readonly answerOptOutWords: boolean;
  /** Epoch ms; webhooks carry no time of their own. */
  readonly now: number;
}

/** SM for text, MM for a message with files. */
export const MESSAGE_SID = /^(?:SM|MM)[0-9a-f]{32}$/i;
const MEDIA_SID = /^ME[0-9a-f]{32}$/i;
/** Twilio's own limit. */
const MAX_FILES = 10;
/** No address is longer; an e-mail address as sender is the longest kind. */
const MAX_SENDER = 254;

/**
 * What Twilio answers by itself where the number is no short code, unless it was told not to
 * (https://help.twilio.com/articles/223134027): after the first group it blocks every further message to that
 * person, so an answer of ours could only fail; after HELP there would be two.
 */
const OPT_OUT_WORDS = new Set(
  ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT', 'START', 'UNSTOP', 'HELP', 'INFO'].map((word) =>
    word.toLowerCase(),
  ),
);

/** Undefined without a sender, or without a SID, which is the key: the list tells what is there. */
export function fromWebhook(fields: Fields, context: InboundContext): InboundMessage | undefined {
  const sid = fields.get('MessageSid') ?? fields.get('SmsMessageSid') ?? fields.get('SmsSid') ?? '';
  if (!MESSAGE_SID.test(sid) || (fields.get('From') ?? '') === '') return undefined;
  const count = Math.min(Number(fields.get('NumMedia') ?? 0) || 0, MAX_FILES);
  const media: MediaRef[] = [];
  let lost = 0;
  for (let index = 0; index < count; index += 1) {
    const mediaSid = mediaSidOf(fields.get(`MediaUrl${index}`) ?? '', sid, context);
    if (mediaSid === undefined) lost += 1;
    else media.push(toMedia(sid, mediaSid, fields.get(`MediaContentType${index}`)));
  }
  return toMessage(
    {
      sid,
      from: fields.get('From') ?? '',
      body: fields.get('Body') ?? '',
      at: context.now,
      media,
      lost,
      // Set by Twilio where it answered by itself, in whatever language its words are.
      optOut: fields.get('OptOutType') !== undefined,
    },
    context,
  );
}

/** `media` is undefined where the platform no longer has the files. */
export function fromRecord(
  record: MessageRecord,
  media: readonly MediaRecord[] | undefined,
  context: InboundContext,
): InboundMessage {
  const refs = (media ?? []).slice(0, MAX_FILES).flatMap(({ sid, mime }) => {
    return MEDIA_SID.test(sid) ? [toMedia(record.sid, sid, mime)] : [];
  });
  return toMessage(
    {
      sid: record.sid,
      from: record.from,
      body: record.body,
      at: record.at ?? context.now,
      media: refs,
      lost: Math.max(0, Math.min(record.mediaCount, MAX_FILES) - refs.length),
      optOut: false,
    },
    context,
  );
}

interface Facts {
  readonly sid: string;
  readonly from: string;
  readonly body: string;
  readonly at: number;
  readonly media: readonly MediaRef[];
  /** Files that are announced and cannot be had. */
  readonly lost: number;
  readonly optOut: boolean;
}

function toMessage(facts: Facts, context: InboundContext): InboundMessage {
  const { sid, from, body, media, lost, at } = facts;
  const senderId = from === '' || from.length > MAX_SENDER ? 'unknown' : from;
  const note = lost === 0 ? '' : `[${lost} file${lost === 1 ? '' : 's'} that cannot be fetched]`;
  const content = composed(body, ours(note));
  const refusal = refusalOf(facts, senderId, content.text, context);
  const by = { channel: context.channel, account: context.number };
  return inboundMessage(by, {
    chatId: senderId,
    platformId: sid,
    // The network passes on a number and nothing else.
    senderId,
    ...content,
    media,
    ...(refusal && { refusal }),
    timestamp: at,
    // The earliest time at which an answer can have been sent: what `find` looks behind after a crash.
    replyContext: { receivedAt: at },
  });
}

function refusalOf(facts: Facts, senderId: string, text: string, context: InboundContext): RefusalReason | undefined {
  if (senderId === 'unknown') return 'unreadable';
  if (senderId === context.number) return 'own-message';
  if (text.trim() === '' && facts.media.length === 0) return 'empty';
  if (context.answerOptOutWords) return undefined;
  const isWord = facts.media.length === 0 && OPT_OUT_WORDS.has(facts.body.trim().toLowerCase());
  // Answered by the platform: nothing is left for the agent to answer.
  return facts.optOut || (isWord && !isShortCode(context.number)) ? 'answered-by-platform' : undefined;
}

/**
 * "By default, Twilio does not handle HELP & STOP keyword replies, or the opt-out list for standalone short
 * codes" (https://support.twilio.com/hc/en-us/articles/223181748). Where a Messaging Service does, the
 * webhook says so.
 */
function isShortCode(number: string): boolean {
  return !number.startsWith('+');
}

/**
 * The file's own SID out of its address. The address itself is never used: only the configured API is asked,
 * for a file of this very message (attack A8).
 */
function mediaSidOf(url: string, messageSid: string, context: InboundContext): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname, pathname, username } = new URL(url);
  if (username !== '' || !context.isMediaHost(hostname)) return undefined;
  const [, account, message, media = ''] = /\/Accounts\/([^/]+)\/Messages\/([^/]+)\/Media\/([^/]+)$/.exec(pathname) ?? [];
  return account === context.accountSid && message === messageSid && MEDIA_SID.test(media) ? media : undefined;
}

function toMedia(messageSid: string, mediaSid: string, mime: string | undefined): MediaRef {
  const type = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(mime ?? '')?.[0].toLowerCase();
  return { kind: kindOf(type ?? ''), ref: `${messageSid}/${mediaSid}`, ...(type !== undefined && { mime: type }) };
}

function kindOf(mime: string): MediaKind {
  // What phones record when somebody speaks into a message.
  if (/^audio\/(?:amr|amr-nb|3gpp2?)$/.test(mime)) return 'voice';
  const [type] = mime.split('/');
  if (type === 'image') return mime === 'image/svg+xml' ? 'document' : 'photo';
  return type === 'audio' || type === 'video' ? type : 'document';
}
