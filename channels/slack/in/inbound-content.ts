/** Files of a message, and words for what is neither text nor a file we can fetch. Pure. */
import type { MediaKind, MediaRef } from '../../../src/core/message.ts';
import { mark } from '../../../src/lib/marks.ts';
import { type JsonObject, list, num, obj, str } from '../../kit/json.ts';
import { mediaRef } from '../../kit/media-ref.ts';
import { label, type Ours, ours } from '../../kit/senders-words.ts';
import { plainText } from './inbound-text.ts';

/** The platform allows 10 files on one message of a person; an app may send more. */
const MAX_FILES = 20;

export function mediaOf(message: JsonObject): readonly MediaRef[] {
  return files(message).flatMap((file) => {
    const id = str(file['id']);
    if (id === undefined || !isFetchable(file)) return [];
    const mime = str(file['mimetype']) ?? '';
    return mediaRef({
      kind: kindOf(file, mime),
      ref: id,
      name: str(file['name']),
      mime: mime.slice(0, 255) || undefined,
      size: num(file['size']),
    });
  });
}

/** Files that live elsewhere or are gone, and messages of others that were shared. Empty when the text tells everything. */
export function notesOf(message: JsonObject): readonly (string | Ours)[] {
  const elsewhere = files(message)
    .filter((file) => !isFetchable(file))
    .map((file) => {
      const name = label(str(file['name']) ?? str(file['title']) ?? 'unnamed');
      if (file['mode'] === 'external') return ours(mark(`file elsewhere: ${name} ${str(file['external_url']) ?? ''}`));
      return ours(mark(`file that cannot be fetched: ${name}`));
    });
  const shared = list(message['attachments'])
    .map(obj)
    .filter((attachment) => attachment['is_share'] === true || attachment['is_msg_unfurl'] === true)
    .slice(0, MAX_FILES)
    .flatMap((attachment) => {
      const author = label(str(attachment['author_name']) ?? str(attachment['author_id']) ?? 'somebody');
      const words = plainText(str(attachment['text']) ?? str(attachment['fallback']) ?? '');
      return [ours(mark(`shared message of ${author}, not written by the sender`)), words.trim()];
    });
  return [...elsewhere, ...shared];
}

function files(message: JsonObject): readonly JsonObject[] {
  return list(message['files']).map(obj).slice(0, MAX_FILES);
}

/** https://docs.slack.dev/reference/objects/file-object: `tombstone` was deleted, `hidden_by_limit` is beyond the free plan. */
function isFetchable(file: JsonObject): boolean {
  return !['external', 'tombstone', 'hidden_by_limit'].includes(str(file['mode']) ?? '');
}

function kindOf(file: JsonObject, mime: string): MediaKind {
  // A clip recorded in the app; uploaded sound has no subtype.
  if (file['subtype'] === 'slack_audio') return 'voice';
  if (file['subtype'] === 'slack_video') return 'video';
  if (/^image\/(?:jpe?g|png|gif|webp|heic)$/.test(mime)) return 'photo';
  if (mime.startsWith('audio/')) return 'audio';
  if (mime.startsWith('video/')) return 'video';
  return 'document';
}
