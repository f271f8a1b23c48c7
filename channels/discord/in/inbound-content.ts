/** Files of a message, and a note in words for everything that is neither text nor a file. */
import type { MediaKind, MediaRef } from '../../../src/core/message.ts';
import { type JsonObject, num, obj, objects, str } from '../../kit/json.ts';
import { mediaRef } from '../../kit/media-ref.ts';
import { bracketNote } from '../../kit/senders-words.ts';
import { snowflake } from '../wire/ids.ts';

/** https://discord.com/developers/docs/resources/message#message-object-message-flags */
const IS_VOICE_MESSAGE = 1 << 13;

/** Files are asked for again by the id of `host`: for a forward that is the forward, not what it forwards. */
export function mediaOf(message: JsonObject, host: { readonly channelId: string; readonly id: string }): readonly MediaRef[] {
  const voice = ((num(message['flags']) ?? 0) & IS_VOICE_MESSAGE) !== 0;
  return objects(message['attachments']).flatMap((file) => {
    const id = snowflake(file['id']);
    if (id === undefined) return [];
    const mime = str(file['content_type'])?.toLowerCase();
    return mediaRef({
      kind: voice ? 'voice' : kindOf(mime),
      // No address: those of the CDN run out after a day, and a fresh one comes with the message.
      ref: formatRef({ channelId: host.channelId, messageId: host.id, fileId: id }),
      name: str(file['filename']),
      mime: mime?.slice(0, 127),
      size: num(file['size']),
    });
  });
}

export interface FileRef {
  readonly channelId: string;
  readonly messageId: string;
  readonly fileId: string;
}

function formatRef({ channelId, messageId, fileId }: FileRef): string {
  return `${channelId}/${messageId}/${fileId}`;
}

export function parseRef(ref: string): FileRef | undefined {
  const [channelId, messageId, fileId, ...rest] = ref.split('/').map(snowflake);
  if (channelId === undefined || messageId === undefined || fileId === undefined || rest.length > 0) return undefined;
  return { channelId, messageId, fileId };
}

/** The file's own entry in its message, also where that forwards another. */
export function findFile(message: JsonObject, fileId: string): JsonObject | undefined {
  const bodies = [message, ...snapshotsOf(message)];
  return bodies.flatMap((body) => objects(body['attachments'])).find((file) => file['id'] === fileId);
}

/** A message reference of this type is a forward. */
const FORWARD = 1;

export function isForward(message: JsonObject): boolean {
  return num(obj(message['message_reference'])['type']) === FORWARD;
}

/** What a forward carries; its author is not told. */
export function snapshotsOf(message: JsonObject): readonly JsonObject[] {
  return objects(message['message_snapshots']).map((snapshot) => obj(snapshot['message']));
}

/** Empty for a message that its text and files tell completely. */
export function noteOf(message: JsonObject): string {
  const stickers = objects(message['sticker_items']).map((sticker) => bracketNote('sticker', str(sticker['name'])));
  const poll = message['poll'] === undefined || message['poll'] === null ? [] : [pollNote(obj(message['poll']))];
  return [...stickers, ...poll].join('\n');
}

function pollNote(poll: JsonObject): string {
  const answers = objects(poll['answers']).map((answer) => `| ${str(obj(answer['poll_media'])['text']) ?? ''}`);
  return bracketNote('poll', str(obj(poll['question'])['text']), ...answers);
}

function kindOf(mime: string | undefined): MediaKind {
  if (mime?.startsWith('image/')) return 'photo';
  if (mime?.startsWith('audio/')) return 'audio';
  if (mime?.startsWith('video/')) return 'video';
  return 'document';
}
