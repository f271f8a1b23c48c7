/**
 * Files of a message, wherever in it they lie. What is neither text nor a file is told by `inbound-note.ts`.
 */
import type { LivePhoto, Message, PhotoSize, Poll, RichBlock } from 'grammy/types';
import type { MediaKind, MediaRef } from '../../../src/core/message.ts';
import { mediaRef } from '../../kit/media-ref.ts';
import { allBlocks } from './rich-words.ts';

/** What carries content: a message, or the one from another chat that it replies to. */
export type Content = Message | NonNullable<Message['external_reply']>;

interface PlatformFile {
  readonly file_id: string;
  readonly file_size?: number;
  readonly file_name?: string;
  readonly mime_type?: string;
}

/** The fields that hold a file: those of messages, poll media, paid media and rich blocks alike. */
interface Files {
  readonly photo?: readonly PhotoSize[];
  readonly live_photo?: LivePhoto;
  readonly voice?: PlatformFile;
  readonly voice_note?: PlatformFile;
  readonly audio?: PlatformFile;
  readonly video?: PlatformFile;
  readonly video_note?: PlatformFile;
  readonly animation?: PlatformFile;
  readonly document?: PlatformFile;
}

export function mediaOf(content: Content): readonly MediaRef[] {
  const { poll, paid_media } = content;
  const blocks: readonly RichBlock[] = 'rich_message' in content ? allBlocks(content.rich_message?.blocks ?? []) : [];
  // Kinds that hold no file share no field with `Files`.
  const holders: readonly object[] = [content, ...(poll ? pollFiles(poll) : []), ...(paid_media?.paid_media ?? []), ...blocks];
  return holders.flatMap((holder) => filesOf(holder));
}

function pollFiles({ media, explanation_media, options }: Poll): readonly Files[] {
  return [media, explanation_media, ...options.map((option) => option.media)].filter((files) => files !== undefined);
}

function filesOf(files: Files): readonly MediaRef[] {
  const refs: MediaRef[] = [];
  const add = (kind: MediaKind, file: PlatformFile | undefined, fallbackMime?: string): void => {
    if (!file) return;
    const { file_id: ref, file_name: name, file_size: size, mime_type: mime } = file;
    refs.push(mediaRef({ kind, ref, name, mime: mime ?? fallbackMime, size }));
  };
  // The same picture in several sizes; the platform makes all of them JPEG. A live photo is its picture.
  const sizes = files.photo ?? files.live_photo?.photo;
  const largest = sizes?.reduce((best, size) => (size.width * size.height > best.width * best.height ? size : best));
  add('photo', largest, 'image/jpeg');
  if (largest === undefined) add('video', files.live_photo, 'video/mp4');
  add('voice', files.voice ?? files.voice_note, 'audio/ogg');
  add('audio', files.audio, 'audio/mpeg');
  add('video', files.video, 'video/mp4');
  add('video', files.video_note, 'video/mp4');
  // An animation comes with a `document` for old clients that is the same file.
  if (files.animation) add('video', files.animation, 'video/mp4');
  else add('document', files.document);
  return refs;
}
