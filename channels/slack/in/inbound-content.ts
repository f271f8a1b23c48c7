/** Files of a message, and words for what is neither text nor a file we can fetch. Pure. */
import type { MediaKind, MediaRef } from '../../../src/core/message.ts';
import { mark } from '../../../src/lib/marks.ts';
import { type JsonObject, list, num, obj, str } from '../../kit/json.ts';
import { mediaRef } from '../../kit/media-ref.ts';
import { label, type Ours, ours } from '../../kit/senders-words.ts';
import { wordsOfBlocks } from './block-words.ts';
import { plainText } from './inbound-text.ts';

/** The platform allows 10 files on a person's message; an app may send more. As many shares are read. */
const MAX_FILES = 20;

/** Files of a message, and of the messages that are shared with it. */
export function mediaOf(message: JsonObject): readonly MediaRef[] {
  const { own, shared } = filesOf(message);
  return [...own, ...shared.flat()].flatMap((file) => {
    const id = str(file['id']);
    if (id === undefined || !isFetchable(file)) return [];
    const mime = typeServed(str(file['mimetype'])) ?? '';
    return mediaRef({
      kind: kindOf(file, mime),
      ref: id,
      name: str(file['name']),
      mime: mime.slice(0, 255) || undefined,
      size: num(file['size']),
    });
  });
}

/**
 * Tables that a person pasted, files that live elsewhere or are gone, and messages of others that were
 * shared, with their files. Empty when the text tells everything.
 */
export function notesOf(message: JsonObject): readonly (string | Ours)[] {
  const { own, shared } = filesOf(message);
  const told = sharedOf(message).flatMap((attachment, n) => {
    const author = label(str(attachment['author_name']) ?? str(attachment['author_id']) ?? 'somebody');
    const files = shared[n] ?? [];
    const names = files.filter(isFetchable).map(nameOf);
    const which = names.length === 0 ? '' : `; with ${names.length === 1 ? 'the file' : 'the files'} ${names.join(', ')}`;
    const head = ours(mark(`shared message of ${author}, not written by the sender${which}`));
    return [head, sharedWords(attachment), ...elsewhere(files)];
  });
  const pasted = pastedTables(message);
  return [...(pasted === '' ? [] : [pasted]), ...elsewhere(own), ...told];
}

/** An attachment with one of these is the platform's or an app's, also for a link that the person wrote. */
const OF_OTHERS = ['from_url', 'original_url', 'app_unfurl_url', 'app_id', 'bot_id'];

/**
 * The words of tables that a person pasted: they stand in blocks of an attachment, sometimes of the message,
 * and never in its text (https://github.com/vercel/chat/issues/803). '' for a program, whose text says all of
 * it.
 */
export function pastedTables(message: JsonObject): string {
  if (message['subtype'] === 'bot_message' || message['bot_id'] !== undefined) return '';
  const own = list(message['attachments'])
    .slice(0, MAX_FILES)
    .map(obj)
    .filter((one) => !isShared(one) && OF_OTHERS.every((field) => one[field] === undefined));
  const blocks = [message, ...own].flatMap((holder) => list(holder['blocks']).map(obj));
  return plainText(wordsOfBlocks(blocks.filter(({ type }) => type === 'table')));
}

function elsewhere(files: readonly JsonObject[]): readonly Ours[] {
  return files
    .filter((file) => !isFetchable(file))
    .map((file) => {
      if (file['mode'] === 'external') return ours(mark(`file elsewhere: ${nameOf(file)} ${str(file['external_url']) ?? ''}`));
      return ours(mark(`file that cannot be fetched: ${nameOf(file)}`));
    });
}

function nameOf(file: JsonObject): string {
  return label(str(file['name']) ?? str(file['title']) ?? 'unnamed');
}

/**
 * Whether an attachment is a message that was forwarded, or whose link was written. No page of the platform
 * describes these; https://github.com/slackapi/java-slack-sdk/issues/1179 shows one whole.
 */
export function isShared(attachment: JsonObject): boolean {
  return ['is_share', 'is_msg_unfurl', 'is_reply_unfurl'].some((flag) => attachment[flag] === true);
}

function sharedOf(message: JsonObject): readonly JsonObject[] {
  return list(message['attachments']).map(obj).filter(isShared).slice(0, MAX_FILES);
}

/**
 * What a shared message says, no word twice: people write the same into `text` and blocks, programs often put
 * a headline into `text` and all the rest into blocks. `fallback` is the last resort, because it names the
 * author and the time once more.
 */
function sharedWords(attachment: JsonObject): string {
  const copies = list(attachment['message_blocks']).slice(0, MAX_FILES).map(obj);
  const blocks = copies.map((copy) => wordsOfBlocks(obj(copy['message'])['blocks'])).filter(Boolean);
  const pieces = [str(attachment['text']) ?? '', ...blocks, wordsOfBlocks(attachment['blocks'])].map((piece) =>
    plainText(piece).trim(),
  );
  const kept: string[] = [];
  for (const piece of pieces) {
    const has = bare(piece);
    if (has === '' ? piece === '' || kept.includes(piece) : kept.some((other) => bare(other).includes(has))) continue;
    // The longer one of two takes the place of the shorter one.
    const said = kept.filter((other) => bare(other) === '' || !has.includes(bare(other)));
    kept.splice(0, kept.length, ...said, piece);
  }
  return kept.length > 0 ? kept.join('\n') : plainText(str(attachment['fallback']) ?? '').trim();
}

/**
 * Whole words without marks and signs of lists: `*bold*` of a text is `bold` in a block. '' where there is
 * none.
 */
function bare(text: string): string {
  const words = text.replace(/^[^\S\n\r\u2028\u2029]*(?:[•◦▪▫-]|\p{N}+[.)]|\p{L}[.)])\s+/gmu, '').replace(/[*_~`]/g, '');
  return /[\p{L}\p{N}]/u.test(words) ? ` ${words.replace(/\s+/g, ' ').trim().toLowerCase()} ` : '';
}

interface Files {
  readonly own: readonly JsonObject[];
  /** Of each shared message. */
  readonly shared: readonly (readonly JsonObject[])[];
}

/**
 * The files of the message, then those of the messages it shares: they stand in `attachments[].files` alone
 * (https://github.com/openclaw/openclaw/pull/18620). One that stands in both is one; together they are at
 * most `MAX_FILES`.
 */
function filesOf(message: JsonObject): Files {
  const seen = new Set<string>();
  let left = MAX_FILES;
  const take = (holder: JsonObject): readonly JsonObject[] => {
    return list(holder['files'])
      .map(obj)
      .filter((file) => {
        const id = str(file['id']);
        if (left === 0 || (id !== undefined && seen.has(id))) return false;
        if (id !== undefined) seen.add(id);
        left -= 1;
        return true;
      });
  };
  return { own: take(message), shared: sharedOf(message).map(take) };
}

/**
 * The media type that the platform serves a file with, by the one it states. A canvas is served as HTML,
 * though it has a type of its own: "Slack returns canvases as HTML documents"
 * (https://github.com/rusq/slackdump/pull/401).
 */
export function typeServed(stated: string | undefined): string | undefined {
  return stated === 'application/vnd.slack-docs' ? 'text/html' : stated;
}

/**
 * https://docs.slack.dev/reference/objects/file-object: `tombstone` was deleted, `hidden_by_limit` is beyond
 * the free plan.
 */
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
