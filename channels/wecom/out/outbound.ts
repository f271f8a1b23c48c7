/** `OutboundPart` -> one message, and the outcome of sending it -> `SendResult`. */
import { createHash } from 'node:crypto';
import type { SendResult } from '../../../src/core/channel.ts';
import type { Choice, OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import { uploadName } from '../../kit/upload-file.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import type { MediaType, Sent, Upload } from '../wire/client.ts';
import { asWritten, printable, toWecom, toWords } from './format.ts';

export interface MessageOptions {
  readonly plain: boolean;
  readonly agentId: number;
  readonly markdown: boolean;
  readonly duplicateCheck: boolean;
}

/** Bytes of text and of markdown; the platform cuts off what is more without saying so. */
const TEXT_BYTES = PLATFORM_LIMITS.text.value;
/** A larger one goes as a file. */
const MEDIA_BYTES = {
  image: PLATFORM_LIMITS.image.value,
  voice: PLATFORM_LIMITS.voice.value,
  video: PLATFORM_LIMITS.video.value,
  file: PLATFORM_LIMITS.file.value,
} as const;
/** A longer one is refused as a voice message. */
const VOICE_SECS = PLATFORM_LIMITS.voiceLength.value;
export const LEAST_BYTES = PLATFORM_LIMITS.leastFile.value;
const CHECK_SECS = PLATFORM_LIMITS.duplicates.value / 1_000;
/** Of a card: what the platform says it shows whole. A title is required, the text below it is not. */
const CARD_TITLE = PLATFORM_LIMITS.cardTitle.value;
export const CARD_TEXT = PLATFORM_LIMITS.cardText.value;
export const CARD_BUTTONS = PLATFORM_LIMITS.cardButtons.value;
/** "按钮文案，建议不超过10个字": what is longer may be cut by the apps. */
const BUTTON_LABEL = 10;
const BUTTON_KEY_BYTES = PLATFORM_LIMITS.buttonKey.value;

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
  const { msgtype, content } = fits ? formatted : { msgtype: 'text' as const, content: asWritten(text) };
  if (Buffer.byteLength(content) > room) return { refused: 'too-long', detail: `the text has more than ${room} bytes` };
  if (content.trim() === '') return { refused: 'invalid', detail: 'the text is empty' };
  const marked = options.duplicateCheck ? content + markOf(part.key) : content;
  return { payload: envelope(part, options, { msgtype, [msgtype]: { content: marked } }) };
}

export function toFileMessage(part: OutboundPart, media: { type: MediaType; id: string }, options: MessageOptions): object {
  return envelope(part, options, { msgtype: media.type, [media.type]: { media_id: media.id } });
}

/** `voiceSecs`: how long the file is when played, where it is a recording in AMR. */
export function toUpload(file: OutboundFile, voiceSecs?: number): Upload {
  return { type: typeOf(file, voiceSecs), path: file.path, name: uploadName(printable(file.name)), mime: file.mime };
}

function envelope(part: OutboundPart, { agentId, duplicateCheck }: MessageOptions, message: object): object {
  const check = duplicateCheck ? { enable_duplicate_check: 1, duplicate_check_interval: CHECK_SECS } : {};
  return { touser: part.chatId, agentid: agentId, ...message, ...check };
}

const MARK_BITS = 32;
/** It is invisible too, and no blank: if the platform trims before it compares, what is before it stays. */
const MARK_END = '\u200b';
const MARK_BYTES = MARK_BITS + Buffer.byteLength(MARK_END);

/**
 * Spaces and tabs that spell a hash of the key. The platform takes two messages of the same content for one:
 * with these, the same answer given twice is two messages, and the same part sent twice is one.
 */
function markOf(key: string): string {
  const bits = createHash('sha256').update(key).digest().readUInt32BE(0);
  return Array.from({ length: MARK_BITS }, (_, bit) => ((bits >>> bit) & 1 ? '\t' : ' ')).join('') + MARK_END;
}

/** Undefined where a card cannot show it whole. By the task id the platform refuses a part's second card. */
async function toCard(part: OutboundPart, choices: readonly Choice[]): Promise<object | undefined> {
  const labels = choices.map(({ label }) => printable(label));
  const values = choices.map(({ value }) => printable(value));
  const shown = labels.map((label) => cut(label, BUTTON_LABEL));
  // What a button cannot show whole stands above it.
  const listed = shown.every((label, at) => label === labels[at]) ? [] : labels.map((label, at) => `${at + 1}. ${label}`);
  const words = await toWords(part.text);
  const text = [words, ...listed].join('\n');
  if (words === '' || text.length > CARD_TEXT || choices.length > CARD_BUTTONS) return undefined;
  // The keys of buttons must differ, and people must be able to tell their labels apart.
  if ([values, shown].some((all) => new Set(all).size < all.length)) return undefined;
  if (values.some((value) => Buffer.byteLength(value) > BUTTON_KEY_BYTES)) return undefined;
  const task_id = createHash('sha256').update(part.key).digest('hex');
  const button_list = shown.map((label, at) => ({ text: label, key: values[at] }));
  return {
    msgtype: 'template_card',
    template_card: { card_type: 'button_interaction', ...titled(text), task_id, button_list },
  };
}

/** A long first line is shown cut as the title, and whole below. */
function titled(text: string): object {
  const [first = '', ...others] = text.split('\n');
  if (first.length > CARD_TITLE) return { main_title: { title: cut(first, CARD_TITLE) }, sub_title_text: text };
  const below = others.join('\n').trim();
  return { main_title: { title: first }, ...(below !== '' && { sub_title_text: below }) };
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

function withChoices(text: string, choices: readonly Choice[]): string {
  const lines = choices.map(({ label, value }) => (label === value ? `- ${value}` : `- ${value}: ${label}`));
  return `${text}\n\n${lines.join('\n')}`.trim();
}

/** Whether it goes as a voice message if it is short enough. Anything but AMR is refused as one. */
export function mayBeVoice({ kind, mime, bytes }: OutboundFile): boolean {
  return kind === 'voice' && mime.toLowerCase() === 'audio/amr' && bytes <= MEDIA_BYTES.voice;
}

function typeOf(file: OutboundFile, voiceSecs: number | undefined): MediaType {
  const { kind, mime, bytes } = file;
  const type = mime.toLowerCase();
  if (kind === 'photo' && /^image\/(?:jpeg|png)$/.test(type) && bytes <= MEDIA_BYTES.image) return 'image';
  if (mayBeVoice(file) && voiceSecs !== undefined && voiceSecs <= VOICE_SECS) return 'voice';
  if (kind === 'video' && type === 'video/mp4' && bytes <= MEDIA_BYTES.video) return 'video';
  return 'file';
}

export function toSent(sent: Sent, part: OutboundPart): SendResult {
  // One member is addressed: who is named here got nothing, although the call succeeded.
  if (sent.invaliduser)
    return { kind: 'refused', reason: 'chat-gone', detail: 'the platform knows no such member, or not for this application' };
  if (sent.unlicenseduser) return { kind: 'refused', reason: 'blocked', detail: 'this member has no licence for the API' };
  // A message that the duplicate check held back may come without an id of its own; it was accepted before.
  return { kind: 'sent', platformId: sent.msgid ?? acceptedId(part) };
}

/** The id of a message that the platform took and did not name. */
export function acceptedId(part: OutboundPart): string {
  return `accepted:${createHash('sha256').update(part.key).digest('hex').slice(0, 16)}`;
}
