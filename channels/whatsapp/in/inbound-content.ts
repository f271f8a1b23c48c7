/** What a message says: words, files, and a note in words for everything that is neither. */
import type { proto } from '@whiskeysockets/baileys';
import type { MediaKind, MediaRef } from '../../../src/core/message.ts';
import { mediaRef } from '../../kit/media-ref.ts';
import { type MediaAddress, type StoredKind, toRef } from '../wire/media-ref.ts';
import { businessFiles } from './business-words.ts';
import { kindWords } from './kind-words.ts';

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

const MAX_DEPTH = 6;
/**
 * What a wrapper may hold beside the message in it; `deviceSentMessage` names where another device of ours
 * sent it.
 */
const WRAPPING = new Set(['message', 'destinationJid', 'phash']);

/** Never throws for a message that the SDK could decode. */
export function readContent(message: Content): Said {
  const { content, isForwarded } = unwrap(message);
  const media = mediaOf(content);
  const caption = content.imageMessage?.caption ?? content.videoMessage?.caption ?? content.documentMessage?.caption;
  const written = content.conversation ?? content.extendedTextMessage?.text ?? caption ?? '';
  const { text: words, note } = kindWords(content);
  const text = [written, words].filter((line) => line !== '').join('\n');
  const context = contextOf(content);
  return { text, note, media, context: isForwarded ? { ...context, isForwarded } : context, content };
}

/**
 * Messages around messages: disappearing, view once, a document with a caption, an edit, an animated sticker,
 * a poll with pictures, a status of a group and whatever comes next. They have one form
 * (`FutureProofMessage`), so none needs to be known by its name.
 */
function unwrap(message: Content): { readonly content: Content; readonly isForwarded: boolean } {
  let content = message;
  let isForwarded = false;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const [name, inner] =
      Object.entries(content).flatMap(([key, value]) => (isWrapper(value) ? [[key, value.message] as const] : []))[0] ?? [];
    if (!inner) return { content, isForwarded };
    isForwarded ||= name === 'botForwardedMessage';
    content = inner;
  }
  return { content: {}, isForwarded };
}

function isWrapper(value: unknown): value is { readonly message: Content } {
  if (typeof value !== 'object' || value === null) return false;
  const set = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return set.every(([key]) => WRAPPING.has(key)) && set.some(([key, member]) => key === 'message' && typeof member === 'object');
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
  return [content, ...businessFiles(content)]
    .flatMap(filesOf)
    .map(([kind, stored, file, mime]) => refOf(kind, stored, file, mime))
    .filter((ref) => ref !== undefined);
}

/** Kinds of the files in a message, also of those whose key is missing; `content` without its wrappers. */
export function kindsIn(content: Content): readonly MediaKind[] {
  return [content, ...businessFiles(content)].flatMap(filesOf).map(([kind]) => kind);
}

type FileIn = readonly [kind: MediaKind, stored: StoredKind, file: PlatformFile, fallbackMime: string];

function filesOf(content: Content): readonly FileIn[] {
  const { imageMessage, videoMessage, ptvMessage, audioMessage, documentMessage, stickerMessage } = content;
  const all = [
    ['photo', 'image', imageMessage, 'image/jpeg'],
    ['video', 'video', videoMessage ?? ptvMessage, 'video/mp4'],
    [audioMessage?.ptt ? 'voice' : 'audio', 'audio', audioMessage, 'audio/ogg'],
    ['document', 'document', documentMessage, 'application/octet-stream'],
    ['photo', 'image', stickerMessage, 'image/webp'],
  ] as const;
  return all.flatMap(([kind, stored, file, mime]) => (file ? [[kind, stored, file, mime] as const] : []));
}

function refOf(kind: MediaKind, stored: StoredKind, file: PlatformFile, fallbackMime: string): MediaRef | undefined {
  if (!file.mediaKey?.length) return undefined;
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
