/** Files of a message, and a note in words for everything that is neither text nor a file. */
import type { Message } from 'grammy/types';
import type { MediaKind, MediaRef } from '../../../src/core/message.ts';
import { mediaRef } from '../../kit/media-ref.ts';
import { bracketNote } from '../../kit/senders-words.ts';

interface PlatformFile {
  readonly file_id: string;
  readonly file_size?: number;
  readonly file_name?: string;
  readonly mime_type?: string;
}

export function mediaOf(message: Message): readonly MediaRef[] {
  const refs: MediaRef[] = [];
  const add = (kind: MediaKind, file: PlatformFile | undefined, fallbackMime?: string): void => {
    if (!file) return;
    const { file_id: ref, file_name: name, file_size: size, mime_type: mime } = file;
    refs.push(mediaRef({ kind, ref, name, mime: mime ?? fallbackMime, size }));
  };
  // The same picture in several sizes; the platform makes all of them JPEG.
  const largest = message.photo?.reduce((best, size) => (size.width * size.height > best.width * best.height ? size : best));
  add('photo', largest, 'image/jpeg');
  add('voice', message.voice, 'audio/ogg');
  add('audio', message.audio, 'audio/mpeg');
  add('video', message.video, 'video/mp4');
  add('video', message.video_note, 'video/mp4');
  // An animation comes with a `document` for old clients that is the same file.
  if (message.animation) add('video', message.animation, 'video/mp4');
  else add('document', message.document);
  return refs;
}

/** Empty for a message that its text and files tell completely, and for service messages, which nobody wrote. */
export function noteOf(message: Message): string {
  if (message.sticker)
    return bracketNote('sticker', message.sticker.emoji, message.sticker.set_name && `from ${message.sticker.set_name}`);
  if (message.venue) {
    const { title, address, location } = message.venue;
    return bracketNote('venue', `${title}, ${address}`, `(${location.latitude}, ${location.longitude})`);
  }
  if (message.location) return bracketNote('location', `${message.location.latitude}, ${message.location.longitude}`);
  if (message.contact) {
    const { first_name, last_name, phone_number } = message.contact;
    return bracketNote('contact', [first_name, last_name].filter((part) => part).join(' '), phone_number);
  }
  if (message.poll)
    return bracketNote('poll', message.poll.question, ...message.poll.options.map((option) => `| ${option.text}`));
  if (message.dice) return bracketNote('dice', message.dice.emoji, `shows ${message.dice.value}`);
  if (message.checklist) {
    return bracketNote('checklist', message.checklist.title, ...message.checklist.tasks.map((task) => `| ${task.text}`));
  }
  if (message.story) return '[story that bots cannot see]';
  if (message.paid_media) return '[paid media that bots cannot see]';
  if (message.game) return bracketNote('game', message.game.title);
  if (message.invoice) return bracketNote('invoice', message.invoice.title);
  if (message.web_app_data) return bracketNote('data of a web app', message.web_app_data.data);
  return '';
}
