/** `OutboundPart` -> what is posted where. Pure but for the Markdown parser, which loads at its first use. */
import { shortHash } from '../../../src/core/ids.ts';
import type { OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import { uploadName } from '../../kit/upload-file.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import type { SendCall, UploadCall } from '../wire/client.ts';
import { type Rendered, type RenderOptions, render } from './format.ts';

/** A larger picture goes as a file. */
const IMAGE_BYTES = PLATFORM_LIMITS.image.value;

/** The message a part's text becomes. `form`: what an edited message is, which cannot change. */
export function toMessage(
  part: OutboundPart,
  options: { readonly plain: boolean; readonly isGroup: boolean | undefined; readonly form?: RenderOptions['form'] },
): Rendered {
  const { plain, isGroup, form } = options;
  return render(part.text, { plain, choices: part.choices, press: pressOf(part, isGroup), form });
}

/** What a button of the part sends back besides its choice. */
export function pressOf(part: OutboundPart, isGroup: boolean | undefined): Readonly<Record<string, string | boolean>> {
  return {
    chat: part.chatId,
    ...(isGroup !== undefined && { group: isGroup }),
    ...(part.threadId !== undefined && { thread: part.threadId }),
  };
}

/** The part without buttons: its choices are typed. */
export function withListedChoices({ choices = [], ...part }: OutboundPart): OutboundPart {
  if (choices.length === 0) return part;
  return { ...part, text: `${part.text}\n\n${choices.map(({ label }, n) => `${n + 1}. ${label}`).join('\n')}` };
}

/**
 * Where a part goes. In a thread every part answers the message it is about: that is the only way into one.
 * In a group the first part refers to the question; in a private chat that would only be noise. `gone`: that
 * message cannot be answered any more.
 */
export function targetOf(part: OutboundPart, gone: boolean): SendCall['to'] {
  const messageId = part.replyContext?.['messageId'];
  const inThread = part.threadId !== undefined;
  const refers = inThread || (part.replyContext?.['group'] === true && part.ordinal === 0);
  if (typeof messageId !== 'string' || !refers || gone) return { chatId: part.chatId };
  return { messageId, inThread };
}

/** The same for every attempt at a part. Send message: at most 50 characters. */
export function uuidOf(part: OutboundPart): string {
  return shortHash(part.key, 40);
}

export function toUpload(file: OutboundFile): UploadCall {
  return { kind: uploadKind(file), path: file.path, name: uploadName(file.name) };
}

/** The message that shows an uploaded file. */
export function toFileMessage(kind: UploadCall['kind'], key: string): { readonly type: string; readonly content: string } {
  if (kind === 'image') return { type: 'image', content: JSON.stringify({ image_key: key }) };
  const type = kind === 'opus' ? 'audio' : kind === 'mp4' ? 'media' : 'file';
  return { type, content: JSON.stringify({ file_key: key }) };
}

const OFFICE: readonly (readonly [RegExp, UploadCall['kind']])[] = [
  [/^application\/pdf$/, 'pdf'],
  [/^application\/(?:msword|vnd\.openxmlformats-officedocument\.wordprocessingml)/, 'doc'],
  [/^application\/vnd\.(?:ms-excel|openxmlformats-officedocument\.spreadsheetml)/, 'xls'],
  [/^application\/vnd\.(?:ms-powerpoint|openxmlformats-officedocument\.presentationml)/, 'ppt'],
];

function uploadKind(file: OutboundFile): UploadCall['kind'] {
  const mime = file.mime.toLowerCase();
  // Upload image: the formats it takes.
  if (file.kind === 'photo' && /^image\/(?:jpeg|png|webp|gif|tiff|bmp|x-icon)$/.test(mime) && file.bytes <= IMAGE_BYTES)
    return 'image';
  // Upload file: audio that is to be played in the chat must be opus.
  if ((file.kind === 'voice' || file.kind === 'audio') && /^audio\/(?:ogg|opus)/.test(mime)) return 'opus';
  if (file.kind === 'video' && mime === 'video/mp4') return 'mp4';
  return OFFICE.find(([pattern]) => pattern.test(mime))?.[1] ?? 'stream';
}
