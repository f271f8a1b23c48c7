/** What a message says: words, files, and a note in words for everything that is neither. */
import type { proto } from '@whiskeysockets/baileys';
import type { MediaKind, MediaRef } from '../../../src/core/message.ts';
import { mediaRef } from '../../kit/media-ref.ts';
import { bracketNote } from '../../kit/senders-words.ts';
import { type MediaAddress, type StoredKind, toRef } from '../wire/media-ref.ts';

type Content = proto.IMessage;
type Context = proto.IContextInfo;

export interface Said {
  /** Words of people. */
  readonly text: string;
  /** Lines for what is neither text nor a file. */
  readonly note: string;
  readonly media: readonly MediaRef[];
  readonly context: Context | undefined;
  /** The message without its wrappers. */
  readonly content: Content;
}

/** Messages around messages: disappearing, view once, document with a caption, an edit. */
const WRAPPERS = [
  'ephemeralMessage',
  'viewOnceMessage',
  'viewOnceMessageV2',
  'viewOnceMessageV2Extension',
  'documentWithCaptionMessage',
  'editedMessage',
  'groupMentionedMessage',
  'botInvokeMessage',
  'associatedChildMessage',
] as const;
const MAX_DEPTH = 6;

/** Never throws for a message that the SDK could decode. */
export function readContent(message: Content): Said {
  const content = unwrap(message);
  const media = mediaOf(content);
  const caption = content.imageMessage?.caption ?? content.videoMessage?.caption ?? content.documentMessage?.caption;
  const text = content.conversation ?? content.extendedTextMessage?.text ?? caption ?? choiceOf(content) ?? '';
  return { text, note: noteOf(content), media, context: contextOf(content), content };
}

function unwrap(message: Content): Content {
  let content = message;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const current = content;
    const wrapper = WRAPPERS.find((name) => current[name]?.message);
    if (wrapper === undefined) return content;
    content = current[wrapper]?.message ?? {};
  }
  return {};
}

/** Every kind of message carries its own; there is one per message. */
function contextOf(content: Content): Context | undefined {
  for (const value of Object.values(content) as unknown[]) {
    if (typeof value === 'object' && value !== null && 'contextInfo' in value && value.contextInfo)
      return value.contextInfo as Context;
  }
  return undefined;
}

interface PlatformFile {
  readonly url?: string | null;
  readonly directPath?: string | null;
  readonly mediaKey?: Uint8Array | null;
  readonly fileEncSha256?: Uint8Array | null;
  readonly fileLength?: number | { toNumber(): number } | null;
  readonly mimetype?: string | null;
  readonly fileName?: string | null;
}

function mediaOf(content: Content): readonly MediaRef[] {
  const { imageMessage, videoMessage, ptvMessage, audioMessage, documentMessage, stickerMessage } = content;
  return [
    refOf('photo', 'image', imageMessage, 'image/jpeg'),
    refOf('video', 'video', videoMessage ?? ptvMessage, 'video/mp4'),
    refOf(audioMessage?.ptt ? 'voice' : 'audio', 'audio', audioMessage, 'audio/ogg'),
    refOf('document', 'document', documentMessage, 'application/octet-stream'),
    refOf('photo', 'image', stickerMessage, 'image/webp'),
  ].filter((ref) => ref !== undefined);
}

function refOf(
  kind: MediaKind,
  stored: StoredKind,
  file: PlatformFile | null | undefined,
  fallbackMime: string,
): MediaRef | undefined {
  if (!file?.mediaKey?.length) return undefined;
  const address: MediaAddress = {
    kind: stored,
    key: file.mediaKey,
    ...(file.directPath ? { path: file.directPath } : file.url ? { url: file.url } : {}),
    ...(file.fileEncSha256?.length && { hash: file.fileEncSha256 }),
  };
  const size = typeof file.fileLength === 'object' ? file.fileLength?.toNumber() : file.fileLength;
  const mime = (file.mimetype || fallbackMime).split(';')[0]?.trim() || fallbackMime;
  return mediaRef({ kind, ref: toRef(address), name: file.fileName || undefined, mime, size: size || undefined });
}

/** What was chosen from a list or a button that some other program had sent. */
function choiceOf(content: Content): string | undefined {
  const { buttonsResponseMessage, listResponseMessage, templateButtonReplyMessage, interactiveResponseMessage } = content;
  return (
    buttonsResponseMessage?.selectedDisplayText ??
    listResponseMessage?.title ??
    templateButtonReplyMessage?.selectedDisplayText ??
    interactiveResponseMessage?.body?.text ??
    undefined
  );
}

/** Empty for a message that its text and files tell completely, and for what nobody wrote. */
function noteOf(content: Content): string {
  const { locationMessage, liveLocationMessage, contactMessage, contactsArrayMessage, eventMessage, stickerMessage } = content;
  if (stickerMessage) return '[sticker]';
  if (locationMessage) {
    const { name, address, degreesLatitude, degreesLongitude } = locationMessage;
    return bracketNote('location', name, address, `(${degreesLatitude ?? 0}, ${degreesLongitude ?? 0})`);
  }
  if (liveLocationMessage) {
    const { degreesLatitude, degreesLongitude, caption } = liveLocationMessage;
    return bracketNote('live location', caption, `(${degreesLatitude ?? 0}, ${degreesLongitude ?? 0})`);
  }
  if (contactMessage) return contactOf(contactMessage);
  if (contactsArrayMessage) return (contactsArrayMessage.contacts ?? []).slice(0, 20).map(contactOf).join('\n');
  const poll = content.pollCreationMessage ?? content.pollCreationMessageV2 ?? content.pollCreationMessageV3;
  if (poll) return bracketNote('poll', poll.name, ...(poll.options ?? []).map(({ optionName }) => `| ${optionName ?? ''}`));
  if (eventMessage) return bracketNote('event', eventMessage.name, eventMessage.description);
  if (content.groupInviteMessage) return bracketNote('invitation to the group', content.groupInviteMessage.groupName);
  if (content.productMessage) return bracketNote('product', content.productMessage.product?.title);
  if (content.orderMessage) return bracketNote('order', content.orderMessage.orderTitle);
  return '';
}

function contactOf({ displayName, vcard }: proto.Message.IContactMessage): string {
  const phones = [...(vcard ?? '').slice(0, 10_000).matchAll(/^(?:item\d+\.)?TEL[^:\n]{0,200}:(.{1,40})$/gim)].map(
    (match) => match[1],
  );
  return bracketNote('contact', displayName, ...phones.slice(0, 5));
}
