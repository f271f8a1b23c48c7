/** Did a part arrive? Messages carry our key as metadata; files are known by their id or by what they are. */
import type { OutboundPart } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { CallError } from '../../kit/call-error.ts';
import { type JsonObject, list, num, obj, str } from '../../kit/json.ts';
import type { SlackClient } from '../wire/client.ts';
import { METADATA_TYPE, metadataKey } from './outbound.ts';
import { shownName } from './send.ts';
import { askShare, awaitShare } from './shares.ts';

export interface FindOptions {
  readonly client: Pick<SlackClient, 'call' | 'now'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Ours: only what we sent counts. */
  readonly isOwn: (message: JsonObject) => boolean;
  /** The id that the file got when this process uploaded it. */
  readonly fileId?: string;
  /** See `Channel.find`. */
  readonly since?: number;
}

export type Found = { readonly platformId: string } | 'absent' | undefined;

/** An accepted message may take a moment to the history; one with a file, which is scanned first, longer. */
const SECOND_LOOK_MS = 3_000;
const KNOWN_FILE_LOOK_MS = 8_000;
const FILE_LOOK_MS = 20_000;
const PAGE = 200;
const MAX_PAGES = 10;
/** Parts that answer nothing are looked for at least so far back, whatever our clock said. */
const DAY_SECS = 86_400;
/** By which our clock may be ahead of the platform's. */
const EARLIER_SECS = 600;

/** `absent` only after a second look; undefined if the platform cannot say. Rejects as the signal does. */
export async function findPart(part: OutboundPart, options: FindOptions): Promise<Found> {
  if (part.file && options.fileId !== undefined) return findFile(part, options.fileId, options);
  return lookTwice(part, part.file ? FILE_LOOK_MS : SECOND_LOOK_MS, options);
}

/** A file that the platform has may be shown at any time: only one that it does not know is absent. */
async function findFile(part: OutboundPart, fileId: string, options: FindOptions): Promise<Found> {
  const share = await awaitShare(fileId, part.chatId, options);
  if (share === 'pending') return undefined;
  if (typeof share === 'object') return { platformId: `${part.chatId}:${share.ts}` };
  const found = await lookTwice(part, share === 'absent' ? KNOWN_FILE_LOOK_MS : FILE_LOOK_MS, options);
  if (found !== 'absent' || share === 'unsaid') return found;
  return (await askShare(fileId, part.chatId, options)) === 'absent' ? 'absent' : undefined;
}

async function lookTwice(part: OutboundPart, betweenMs: number, options: FindOptions): Promise<Found> {
  const first = await look(part, options);
  if (first !== 'absent') return first;
  await options.clock.sleep(betweenMs, options.signal);
  return look(part, options);
}

async function look(part: OutboundPart, options: FindOptions): Promise<Found> {
  const { client, signal, isOwn, fileId, since = Number.POSITIVE_INFINITY } = options;
  // An answer comes after what it answers. A question may be sent for as long as it is open.
  const asked = Number(str(part.replyContext?.['ts']));
  const written = Math.min(client.now() / 1_000 - DAY_SECS, since / 1_000 - EARLIER_SECS);
  const oldest = Number.isFinite(asked) ? asked : written;
  const place = part.threadId === undefined ? {} : { ts: part.threadId };
  const method = part.threadId === undefined ? 'conversations.history' : 'conversations.replies';
  const args = { channel: part.chatId, ...place, oldest: oldest.toFixed(6), limit: PAGE, include_all_metadata: true };
  try {
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer = await client.call(method, { ...args, ...(cursor !== undefined && { cursor }) }, signal);
      const found = list(answer['messages'])
        .map(obj)
        .find((message) => isOwn(message) && (part.file ? holdsFile(message, part, fileId) : holdsKey(message, part)));
      const ts = str(found?.['ts']);
      if (ts !== undefined) return { platformId: `${part.chatId}:${ts}` };
      cursor = str(obj(answer['response_metadata'])['next_cursor']);
      if (cursor === undefined || cursor === '') return 'absent';
    }
    // Too much was written since to be sure.
    return undefined;
  } catch (error) {
    if (error instanceof CallError) return undefined;
    throw error;
  }
}

function holdsKey(message: JsonObject, part: OutboundPart): boolean {
  const metadata = obj(message['metadata']);
  return metadata['event_type'] === METADATA_TYPE && obj(metadata['event_payload'])['key'] === metadataKey(part);
}

/** A file carries no metadata. After a restart its id is lost; then name and size have to do. */
function holdsFile(message: JsonObject, { file }: OutboundPart, fileId: string | undefined): boolean {
  return list(message['files'])
    .map(obj)
    .some((sent) =>
      fileId === undefined
        ? file !== undefined && str(sent['name']) === shownName(file.name) && num(sent['size']) === file.bytes
        : sent['id'] === fileId,
    );
}
