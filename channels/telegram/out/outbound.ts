/** `OutboundPart` -> one Bot API call, and the outcome of that call -> `SendResult`. */
import type { SendResult } from '../../../src/core/channel.ts';
import type { OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import type { CallFailure } from '../../kit/call-error.ts';
import { type Refusal, sendResultOf } from '../../kit/call-result.ts';
import { uploadName } from '../../kit/upload-file.ts';
import { DIRECT_TOPIC, GENERAL_TOPIC } from '../in/inbound.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import type { SendCall, Upload } from '../wire/client.ts';
import { toTelegramHtml, visibleLength } from './format.ts';

const TEXT_LIMIT = PLATFORM_LIMITS.text.value;
export const CAPTION_LIMIT = PLATFORM_LIMITS.caption.value;
/** A larger picture goes as a document. */
const PHOTO_BYTES = PLATFORM_LIMITS.photo.value;

/** Builds the one call for a part. `chatId` is the part's, or the chat it has moved to. */
export async function toCall(
  part: OutboundPart,
  options: { readonly plain: boolean; readonly chatId: string },
): Promise<SendCall> {
  const target = { chat_id: options.chatId, ...threadOf(part), ...replyOf(part), ...buttonsOf(part) };
  const limit = part.file ? CAPTION_LIMIT : TEXT_LIMIT;
  const html = options.plain ? '' : await toTelegramHtml(part.text);
  // Markup that grew past the limit, or text that renders to nothing, goes out as it was written (spec D4).
  const markup = isVisible(html) && visibleLength(html) <= limit;
  const words = markup ? html : part.text;
  const mode = markup ? { parse_mode: 'HTML' } : {};
  if (!part.file) {
    const payload = { ...target, text: words, ...mode, link_preview_options: { is_disabled: true } };
    return { method: 'sendMessage', payload };
  }
  const caption = words === '' ? {} : { caption: words, ...mode };
  return { ...toUpload(part.file), payload: { ...target, ...caption } };
}

/** An empty fence is markup around nothing, which the platform refuses as an empty text. */
function isVisible(html: string): boolean {
  return html.replace(/<[^>]*>/g, '').trim() !== '';
}

/** The new text of a message of ours, its buttons gone: they belonged to the old one. */
export async function toEdit(
  part: OutboundPart,
  options: { readonly plain: boolean; readonly chatId: string; readonly messageId: number },
): Promise<Readonly<Record<string, unknown>>> {
  const { payload } = await toCall({ ...part, ordinal: 1 }, options);
  const { text, parse_mode, link_preview_options, reply_markup } = payload;
  const optional = { ...(parse_mode ? { parse_mode } : {}), ...(reply_markup ? { reply_markup } : {}) };
  return { chat_id: options.chatId, message_id: options.messageId, text, link_preview_options, ...optional };
}

/** By default one button a row: labels are sentences as often as words. */
function buttonsOf({ choices = [], perRow = 1 }: OutboundPart): object {
  if (choices.length === 0) return {};
  const buttons = choices.map(({ label, value }) => ({ text: label.slice(0, 64), callback_data: value }));
  const rows = buttons.flatMap((_, at) => (at % perRow === 0 ? [buttons.slice(at, at + perRow)] : []));
  return { reply_markup: { inline_keyboard: rows } };
}

/** What delivery is told about a call that failed. `detail` is the platform's sentence, without the token. */
export function toSendResult(failure: CallFailure): SendResult {
  return sendResultOf(failure, ({ status = 200, detail, retryAfterMs = 1_000 }) => {
    if (status === 429) return { kind: 'retry', reason: detail, afterMs: retryAfterMs, scope: 'chat' };
    // A token the platform does not know is answered with 404 when it is malformed, with 401 when it was
    // revoked.
    if (status === 401 || status === 404) return 'auth';
    return status >= 500 ? undefined : REFUSALS.find(([words]) => detail.toLowerCase().includes(words))?.[1];
  });
}

/**
 * The same file as a plain document, when it was refused only as what it is: a picture whose sides are more
 * than 10,000 pixels together or differ more than 20 times (Bot API, sendPhoto), a voice note for a person
 * who takes none. Nothing was sent then.
 */
export function asDocument(call: SendCall, result: SendResult): SendCall | undefined {
  if (!call.upload || call.method === 'sendDocument' || result.kind !== 'refused' || result.reason !== 'invalid')
    return undefined;
  if (!/photo_|image_|voice_messages_forbidden|video_|wrong type of the web page content/i.test(result.detail)) return undefined;
  return { method: 'sendDocument', payload: call.payload, upload: { ...call.upload, field: 'document' } };
}

/** The platform tells its refusals apart only in words. Checked in order. */
const REFUSALS: readonly (readonly [string, Refusal])[] = [
  ["can't parse entities", 'markup'],
  // Too many characters of links and the like (github.com/tdlib/telegram-bot-api/issues/165): the words alone
  // are short enough.
  ['entities_too_long', 'markup'],
  ['too long', 'too-long'],
  ['caption_too_long', 'too-long'],
  ['chat not found', 'chat-gone'],
  ['kicked', 'chat-gone'],
  ['not a member', 'chat-gone'],
  ['deactivated', 'chat-gone'],
  ['was deleted', 'chat-gone'],
  ['thread not found', 'chat-gone'],
  ['topic_deleted', 'chat-gone'],
  ['topic_closed', 'blocked'],
  ['rights', 'blocked'],
  ['voice_messages_forbidden', 'invalid'],
  ['forbidden', 'blocked'],
  ['blocked', 'blocked'],
];

function threadOf(part: OutboundPart): object {
  // A message without a topic goes to the General one; naming that is refused ("message thread not found").
  if (part.threadId === undefined || part.threadId === GENERAL_TOPIC) return {};
  if (part.threadId.startsWith(DIRECT_TOPIC)) {
    return { direct_messages_topic_id: Number(part.threadId.slice(DIRECT_TOPIC.length)) };
  }
  return { message_thread_id: Number(part.threadId) };
}

/** In a group (its id is negative) the first part shows what it answers; in a private chat that is noise. */
function replyOf(part: OutboundPart): object {
  const messageId = part.replyContext?.['messageId'];
  if (part.ordinal !== 0 || typeof messageId !== 'number' || !part.chatId.startsWith('-')) return {};
  // The message may have been deleted since; the answer is worth more than the reference.
  return { reply_parameters: { message_id: messageId, allow_sending_without_reply: true } };
}

function toUpload(file: OutboundFile): Omit<SendCall, 'payload'> {
  // The SDK writes the name unquoted into a header: line breaks would end it and a semicolon would cut it.
  const upload = (field: Upload['field']): Upload => ({ field, path: file.path, name: uploadName(file.name) });
  const mime = file.mime.toLowerCase();
  if (file.kind === 'photo' && /^image\/(?:jpeg|png|webp)$/.test(mime) && file.bytes <= PHOTO_BYTES) {
    return { method: 'sendPhoto', upload: upload('photo') };
  }
  // Only OGG with OPUS is shown as a voice note (Bot API, sendVoice).
  if (file.kind === 'voice' && /^audio\/(?:ogg|opus)/.test(mime)) return { method: 'sendVoice', upload: upload('voice') };
  if (file.kind === 'voice' || file.kind === 'audio') return { method: 'sendAudio', upload: upload('audio') };
  if (file.kind === 'video' && mime === 'video/mp4') return { method: 'sendVideo', upload: upload('video') };
  return { method: 'sendDocument', upload: upload('document') };
}
