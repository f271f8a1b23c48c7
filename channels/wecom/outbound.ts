/** `OutboundPart` -> one message, and the outcome of sending it -> `SendResult`. */
import { createHash } from 'node:crypto';
import type { SendResult } from '../../src/core/channel.ts';
import type { Choice, OutboundFile, OutboundPart } from '../../src/core/message.ts';
import type { CallError } from './call-error.ts';
import type { MediaType, Sent, Upload } from './client.ts';
import { asWritten, printable, toWecom, toWords } from './format.ts';

export interface MessageOptions {
  readonly plain: boolean;
  readonly agentId: number;
  readonly markdown: boolean;
  readonly duplicateCheck: boolean;
}

/** Bytes of text and of markdown; the platform cuts off what is more without saying so. */
const TEXT_BYTES = 2_048;
const MEGABYTE = 1024 * 1024;
/** https://developer.work.weixin.qq.com/document/path/90253; a larger one goes as a file. */
const MEDIA_BYTES = { image: 10 * MEGABYTE, voice: 2 * MEGABYTE, video: 10 * MEGABYTE, file: 20 * MEGABYTE } as const;
/** "All files must be larger than 5 bytes." */
export const LEAST_BYTES = 6;
/** The longest the platform takes, 4 hours. */
const CHECK_SECS = 14_400;
/** Of a card: what the platform says it shows whole. A title is required, the text below it is not. */
const CARD_TITLE = 36;
export const CARD_TEXT = 160;
export const CARD_BUTTONS = 6;

export type Message =
  | { readonly payload: object; readonly card?: true }
  /** The platform would cut it off, or refuse it. */
  | { readonly refused: 'too-long' | 'invalid'; readonly detail: string };

/** The whole message, but for a part with a file: see `toFileMessage`. */
export async function toMessage(part: OutboundPart, options: MessageOptions): Promise<Message> {
  if (part.choices?.length && !options.plain) {
    const card = await toCard(part, part.choices);
    if (card) return { payload: envelope(part, options, card), card: true };
  }
  const text = part.choices?.length ? withChoices(part.text, part.choices) : part.text;
  const room = TEXT_BYTES - (options.duplicateCheck ? MARK_BYTES : 0);
  const formatted = options.plain ? undefined : await toWecom(text, options.markdown);
  // Markup that grew past the limit, or text that renders to nothing, goes out as it was written.
  const fits = formatted && formatted.content !== '' && Buffer.byteLength(formatted.content) <= room;
  const raw = options.plain ? printable(text) : asWritten(text);
  const { msgtype, content } = fits ? formatted : { msgtype: 'text' as const, content: raw };
  if (Buffer.byteLength(content) > room) return { refused: 'too-long', detail: `the text has more than ${room} bytes` };
  if (content.trim() === '') return { refused: 'invalid', detail: 'the text is empty' };
  const marked = options.duplicateCheck ? content + markOf(part.key) : content;
  return { payload: envelope(part, options, { msgtype, [msgtype]: { content: marked } }) };
}

export function toFileMessage(part: OutboundPart, media: { type: MediaType; id: string }, options: MessageOptions): object {
  return envelope(part, options, { msgtype: media.type, [media.type]: { media_id: media.id } });
}

export function toUpload(file: OutboundFile): Upload {
  return { type: typeOf(file), path: file.path, name: uploadName(file.name), mime: file.mime };
}

function envelope(part: OutboundPart, { agentId, duplicateCheck }: MessageOptions, message: object): object {
  const check = duplicateCheck ? { enable_duplicate_check: 1, duplicate_check_interval: CHECK_SECS } : {};
  return { touser: part.chatId, agentid: agentId, ...message, ...check };
}

const MARK_BITS = 32;
/** Nobody sees it either, and it is no blank: should the platform trim before it compares, what is before it stays. */
const MARK_END = '\u200b';
const MARK_BYTES = MARK_BITS + Buffer.byteLength(MARK_END);

/**
 * Spaces and tabs that spell a hash of the key. The platform takes two messages of the same content for one: with these, the same
 * answer given twice is two messages, and the same part sent twice is one.
 */
function markOf(key: string): string {
  const bits = createHash('sha256').update(key).digest().readUInt32BE(0);
  return Array.from({ length: MARK_BITS }, (_, bit) => ((bits >>> bit) & 1 ? '\t' : ' ')).join('') + MARK_END;
}

/** Undefined where a card cannot show it whole. The task id makes the platform refuse a second card of the same part. */
async function toCard(part: OutboundPart, choices: readonly Choice[]): Promise<object | undefined> {
  const text = await toWords(part.text);
  const values = new Set(choices.map(({ value }) => value));
  // The keys of buttons must differ.
  if (text === '' || text.length > CARD_TEXT || choices.length > CARD_BUTTONS || values.size < choices.length) return undefined;
  const task_id = createHash('sha256').update(part.key).digest('hex');
  const button_list = choices.map(({ label, value }) => ({ text: printable(label), key: printable(value) }));
  return {
    msgtype: 'template_card',
    template_card: { card_type: 'button_interaction', ...titled(text), task_id, button_list },
  };
}

/** A long first line is shown cut as the title, and whole below. */
function titled(text: string): object {
  const [first = '', ...others] = text.split('\n');
  if (first.length > CARD_TITLE) {
    const title = `${first.slice(0, CARD_TITLE - 1).toWellFormed()}…`;
    return { main_title: { title }, sub_title_text: text };
  }
  const below = others.join('\n').trim();
  return { main_title: { title: first }, ...(below !== '' && { sub_title_text: below }) };
}

function withChoices(text: string, choices: readonly Choice[]): string {
  const lines = choices.map(({ label, value }) => (label === value ? `- ${value}` : `- ${value}: ${label}`));
  return `${text}\n\n${lines.join('\n')}`.trim();
}

function typeOf({ kind, mime, bytes }: OutboundFile): MediaType {
  const type = mime.toLowerCase();
  if (kind === 'photo' && /^image\/(?:jpeg|png)$/.test(type) && bytes <= MEDIA_BYTES.image) return 'image';
  // Anything but AMR is refused as a voice message.
  if (kind === 'voice' && type === 'audio/amr' && bytes <= MEDIA_BYTES.voice) return 'voice';
  if (kind === 'video' && type === 'video/mp4' && bytes <= MEDIA_BYTES.video) return 'video';
  return 'file';
}

/** What the chat shows as the file's name. */
function uploadName(name: string): string {
  return (
    printable(name)
      .replace(/[\p{Cc}";\\/]+/gu, '_')
      .slice(-120) || 'file'
  );
}

export function toSent(sent: Sent, part: OutboundPart): SendResult {
  // One member is addressed: who is named here got nothing, although the call succeeded.
  if (sent.invaliduser)
    return { kind: 'refused', reason: 'chat-gone', detail: 'the platform knows no such member, or not for this application' };
  if (sent.unlicenseduser) return { kind: 'refused', reason: 'blocked', detail: 'this member has no licence for the API' };
  // A message that the duplicate check held back may come without an id of its own; it was accepted before.
  return { kind: 'sent', platformId: sent.msgid ?? acceptedId(part) };
}

function acceptedId(part: OutboundPart): string {
  return `accepted:${createHash('sha256').update(part.key).digest('hex').slice(0, 16)}`;
}

/** What delivery is told about a call that failed. */
export function toSendResult({ method, failure, message }: CallError): SendResult {
  if (failure.kind === 'unreached') return { kind: 'retry', reason: message, scope: 'account' };
  if (failure.kind !== 'api' || failure.errcode === -1) {
    // Without the token or the file there was no message to send.
    if (method !== 'message/send') return { kind: 'retry', reason: message, scope: 'account' };
    return { kind: 'unknown', detail: message };
  }
  const wait = WAITS[failure.errcode];
  if (wait !== undefined) return { kind: 'retry', reason: message, afterMs: wait, scope: 'account' };
  return { kind: 'refused', reason: REFUSALS[failure.errcode] ?? 'invalid', detail: message };
}

/** What the platform says to a card that is wrong, where that differs from other messages; else undefined. */
export function toCardResult({ failure, message }: CallError, part: OutboundPart): SendResult | undefined {
  if (failure.kind !== 'api') return undefined;
  // Our ids have the right form, so one that is refused is taken: by this card, whose answer was lost.
  if (failure.errcode === TASK_ID || (failure.errcode === PARAMETER && /task_?id/i.test(failure.errmsg))) {
    return { kind: 'sent', platformId: acceptedId(part) };
  }
  const reason = REFUSALS[failure.errcode] ?? 'invalid';
  const again = failure.errcode === -1 || WAITS[failure.errcode] !== undefined;
  // The same question goes as text, which lists the answers.
  return !again && (reason === 'invalid' || reason === 'too-long')
    ? { kind: 'refused', reason: 'markup', detail: message }
    : undefined;
}

/** The id of a card's task is not good, and a parameter is not good (document/path/90313). */
const TASK_ID = 42_014;
const PARAMETER = 40_058;

/** "Blocked for 60 s" when a limit per minute was passed (document/path/90312); a token refused twice is a matter of moments. */
const WAITS: Readonly<Record<number, number>> = {
  45009: 60_000,
  45011: 60_000,
  45033: 2_000,
  6000: 2_000,
  40014: 5_000,
  42001: 5_000,
  41001: 5_000,
};

type Refusal = Extract<SendResult, { kind: 'refused' }>['reason'];

/** https://developer.work.weixin.qq.com/document/path/90313; `auth` is what the operator has to mend. */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  40001: 'auth', // secret
  40013: 'auth', // company
  40056: 'auth', // application
  40091: 'auth', // secret
  48002: 'auth', // the application may not use this call
  48004: 'auth', // ... was forbidden to
  50003: 'auth', // the application is switched off
  60020: 'auth', // from this address
  301002: 'auth', // with another application's token
  301007: 'auth', // the company was dissolved
  301010: 'auth', // ... needs to be verified
  40003: 'chat-gone',
  40031: 'chat-gone',
  40070: 'chat-gone',
  46004: 'chat-gone',
  60111: 'chat-gone',
  81013: 'chat-gone', // nobody addressed is there, or may be written to
  82001: 'chat-gone',
  43004: 'blocked',
  50002: 'blocked',
  60011: 'blocked',
  45002: 'too-long',
  45003: 'too-long',
};

/** Whether the operator has to mend something: then the channel is down for all chats. */
export function isAuthFailure({ failure }: CallError): boolean {
  return failure.kind === 'api' && REFUSALS[failure.errcode] === 'auth';
}
