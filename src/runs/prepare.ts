// inbound message -> files in the session's workspace -> words of recordings -> the text the agent reads
import { ERROR_CODES, type ErrorCode } from '../core/error-codes.ts';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { Transcriber } from '../core/media-models.ts';
import type { InboundMessage, MediaRef } from '../core/message.ts';
import type { RunRow } from '../core/run.ts';
import { isPointing, POINTING } from '../lib/bare-name.ts';
import { blockMark, fromMark, inMark, mark, markedInMark, markedWords, nameInMark } from '../lib/marks.ts';
import { type FindChannel, fetchFile, removeStored, type StoredFile, type UploadBook } from '../media/fetch-file.ts';
import { MAX_SIDE } from '../media/image-size.ts';
import { ImageQuota } from '../media/pictures.ts';
import { transcribe, transcriptionTimedOut, transcriptLine } from '../media/voice-notes.ts';

/** Longest line of what was said in a group before, in UTF-16 units. */
const LINE_LIMIT = 500;
/**
 * Longest quotation handed to the agent, in UTF-16 units: a message of Telegram, Discord, and what people
 * type in Slack is whole, and so is a forwarded conversation of Feishu. It costs about 4,000 tokens.
 */
const QUOTE_LIMIT = 16_000;
/** A quotation on its mark's line: so long, or up to `LINE_LIMIT` where a line shows it as it is. */
const SHORT_QUOTE = 100;
/** The same of the agent's own answers. Its history has most of them, though not those of jobs and tasks. */
const OWN_QUOTE_LIMIT = 4_000;
/** Longest name of a file, and longest word on whose a quotation is, in UTF-16 units. */
const NAME_LIMIT = 100;
const ORIGIN_LIMIT = 200;
/** Files of one message that are fetched; the rest is named only. */
export const MAX_FILES = 10;
/**
 * Fetching all files of one message may take this long: what a channel's settings allow for one of them at
 * most.
 */
export const FETCH_MS = 480_000;
export const TRANSCRIPTION_MS = 120_000;

export interface Prepared {
  readonly text: string;
  /** Paths relative to the workspace. */
  readonly media: readonly string[];
  /**
   * What the person is told below the answer, whatever the model says of it: files that could not be had. ''
   * when all could.
   */
  readonly notice: string;
  /** What was understood of recordings, whole. */
  readonly heard?: ReadonlyMap<MediaRef, string>;
}

export interface PrepareOptions {
  readonly channel: FindChannel;
  readonly workspace: string;
  /** As `FetchFileOptions.uploads`. */
  readonly uploads?: UploadBook | undefined;
  /** Fetching all files of one message may take this long. */
  readonly timeoutMs: number;
  /** Turns recordings into text. Absent: the agent is told only that one came. */
  readonly transcriber?: Transcriber;
  /**
   * Transcribing all recordings of one message may take this long. ms. Default 120 s: two at the limit of
   * one.
   */
  readonly transcriptionMs?: number;
  readonly signal: AbortSignal;
  /** A file that could not be fetched, or a recording that could not be transcribed (GH2114). */
  readonly onMediaError: (media: MediaRef, error: unknown) => void;
}

/** What became of one file. */
interface Fetched {
  readonly ref: MediaRef;
  readonly note: string;
  readonly file?: StoredFile;
  /** Why there is no file. */
  readonly code?: ErrorCode;
}

/** Whether the first thing outside this process that the run does is a model call, or a command. */
export function startsWithCall({ generation, message }: RunRow): boolean {
  return generation === 1 && message?.kind === 'message' && filesOf(message).length === 0;
}

/**
 * Fetches files and writes what the agent reads. A file that cannot be had is noted in the text; the message
 * is answered all the same.
 */
export async function prepare(message: InboundMessage, options: PrepareOptions): Promise<Prepared> {
  const words = [background(message), ...spoken(message)];
  // Before the time limit is set: its timer would stay for a minute behind every message.
  const sent = filesOf(message);
  if (sent.length === 0) return { text: joined(words), media: [], notice: '' };
  const files = await fetchFiles(sent, options);
  const { lines, heard } = await transcribeAll(files, options);
  const notes = files.flatMap((file) => [lines.get(file) ?? '', file.note]);
  const left = sent.length - files.length;
  if (left > 0) notes.push(mark(`${left} more files were not fetched: the limit is ${MAX_FILES} per message`));
  return {
    text: joined([...words, ...notes]),
    media: files.flatMap(({ file }) => (file ? [file.path] : [])),
    notice: joined(files.flatMap(({ ref, code }) => (code ? [missing(ref, code)] : []))),
    ...(heard.size > 0 ? { heard } : {}),
  };
}

/** Removes what `prepare` has stored of a message that the agent is not to have. */
export async function removeFiles(message: InboundMessage, workspace: string): Promise<void> {
  await removeStored(workspace, filesOf(message));
}

/**
 * What the agent would have read of a message whose turn ended before that was stored: its words, and the
 * names of its files. What was said in the group before it is left out, because it is told again with the
 * next message.
 */
export function wordsOf(message: InboundMessage): string {
  const files = filesOf(message).map(({ ref }) => mark(`${named(ref)}: not looked at before this was interrupted`));
  return joined([...spoken(message), ...files]);
}

/** What a run that is under way is told of a message: with what was said in the group before it. */
export function noteOf(message: InboundMessage): string {
  return joined([background(message), ...spoken(message)]);
}

/** The words of a message, then those of each that is answered with it (spec A4, collect). */
function spoken(message: InboundMessage): readonly string[] {
  const own = (one: InboundMessage): string => author(one) + said(one);
  // Who speaks stands at the beginning of a line: see `marks.ts`.
  const queued = (message.queued ?? []).map((one, i) =>
    joined(['---', quotation(one), `Queued #${i + 1}:${one.isGroup ? '\n' : ' '}${own(one)}`]),
  );
  return [quotation(message), own(message), ...queued];
}

/** A file of a message, and its place among them: its name in the workspace is made of both. */
interface Sent {
  readonly message: InboundMessage;
  readonly ref: MediaRef;
  readonly index: number;
}

function filesOf(message: InboundMessage): readonly Sent[] {
  return [message, ...(message.queued ?? [])].flatMap((one) => one.media.map((ref, index) => ({ message: one, ref, index })));
}

async function fetchFiles(sent: readonly Sent[], options: PrepareOptions): Promise<readonly Fetched[]> {
  const files: Fetched[] = [];
  const images = new ImageQuota();
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  for (const { message, ref, index } of sent.slice(0, MAX_FILES)) {
    try {
      const file = await fetchFile(message, ref, index, { ...options, signal });
      files.push({
        ref,
        note: mark(`${label(ref)}: ${file.path} (${described(file)})${nameOf(ref)}${unseen(file, images)}`),
        file,
      });
    } catch (error) {
      options.signal.throwIfAborted();
      options.onMediaError(ref, error);
      const code = isGatehouseError(error) ? error.code : 'GH1505';
      const what = code === 'GH1507' ? 'was refused' : 'could not be fetched';
      files.push({ ref, note: mark(`${named(ref)} ${what} (${code}); it is not available`), code });
    }
  }
  return files;
}

function described({ mime, bytes }: StoredFile): string {
  return `${mime === '' ? '' : `${mime}, `}${bytes} bytes`;
}

function unseen({ picture, bytes }: StoredFile, images: ImageQuota): string {
  if (picture === undefined) return '';
  const faults = { damaged: 'damaged or cut off', long: `more than ${MAX_SIDE} pixels on a side` };
  const refusal = picture === 'whole' ? images.refuse(bytes) : faults[picture];
  return refusal === undefined ? '' : `; not shown as a picture: ${refusal}`;
}

function missing(ref: MediaRef, code: ErrorCode): string {
  const { title, hint } = ERROR_CODES[code];
  return `⚠️ ${label(ref)}: ${title} (${code}); ${hint}.`;
}

/** The lines with the words of each recording. One after the other: a chat sends one voice note at a time. */
async function transcribeAll(
  files: readonly Fetched[],
  options: PrepareOptions,
): Promise<{ readonly lines: ReadonlyMap<Fetched, string>; readonly heard: ReadonlyMap<MediaRef, string> }> {
  const lines = new Map<Fetched, string>();
  const heard = new Map<MediaRef, string>();
  const { transcriber, workspace } = options;
  const recordings = files.filter(({ ref, file }) => file && isRecording(ref));
  if (!transcriber || recordings.length === 0) return { lines, heard };
  const limit = AbortSignal.timeout(options.transcriptionMs ?? TRANSCRIPTION_MS);
  const signal = AbortSignal.any([options.signal, limit]);
  for (const entry of recordings) {
    const { ref, file } = entry;
    if (!file) continue;
    try {
      const onUnstored = (error: unknown): void => options.onMediaError(ref, error);
      const text = await transcribe(file, workspace, transcriber, { signal, onUnstored });
      heard.set(ref, text);
      lines.set(entry, transcriptLine(text, file.path));
    } catch (error) {
      options.signal.throwIfAborted();
      options.onMediaError(ref, limit.aborted ? transcriptionTimedOut(error) : toTranscriptionError(error));
      lines.set(entry, mark(`${named(ref)} could not be transcribed (GH2114); its words are not known`));
    }
  }
  return { lines, heard };
}

function isRecording({ kind }: MediaRef): boolean {
  return kind === 'voice' || kind === 'audio';
}

export function toTranscriptionError(error: unknown): GatehouseError {
  return isGatehouseError(error) ? error : new GatehouseError('GH2114', errorText(error), { cause: error });
}

function joined(lines: readonly string[]): string {
  return lines.filter((line) => line !== '').join('\n');
}

function label(ref: MediaRef): string {
  return { photo: 'Photo', voice: 'Voice note', audio: 'Audio file', video: 'Video', document: 'File' }[ref.kind];
}

/** What the sender calls the file: words of theirs, and no path. */
function nameOf({ name }: MediaRef): string {
  const shown = nameInMark(name?.split(/[/\\]/).at(-1) ?? '', { limit: NAME_LIMIT, otherwise: '' });
  return shown === '' ? '' : `, named “${shown}” by its sender`;
}

function named(ref: MediaRef): string {
  return `${label(ref)}${nameOf(ref)}`;
}

function background({ background: lines, isGroup }: InboundMessage): string {
  if (!lines) return '';
  const told = lines.map(({ senderName, text, marks }) => `  ${fromMark(senderName)} ${markedInMark(text, marks, LINE_LIMIT)}`);
  // Of a direct chat these are reactions alone: everything said there is said to the agent.
  return [isGroup ? '[said in this group since you last spoke, not to you:' : '[since you last spoke:', ...told, ']'].join('\n');
}

/** What the sender points to. A long text stands whole in its own lines, as the question is about it. */
function quotation({ replyTo }: InboundMessage): string {
  const { text = '', origin, fromBot, isRepeated } = replyTo ?? {};
  if (text === '' && !origin) return '';
  const whose = origin ? `another message (${inMark(origin, ORIGIN_LIMIT)})` : fromBot ? 'you' : 'another message';
  const repeated = isRepeated ? ', as the sender repeats it' : '';
  const head = `in reply to ${whose}${repeated}`;
  const quoted = inMark(text.replace(/[“”]/g, '"'), LINE_LIMIT);
  if (quoted === '') return mark(head);
  const isShort = text.length <= SHORT_QUOTE || quoted === text.trim();
  if (isShort) return mark(`${head}: “${quoted}”`);
  return blockMark(`${head}, quoted below`, text, fromBot ? OWN_QUOTE_LIMIT : QUOTE_LIMIT);
}

function author(message: InboundMessage): string {
  const correction = message.kind === 'edit' ? '[correction of an earlier message] ' : '';
  return message.isGroup ? `${correction}${fromMark(message.senderName)} ` : correction;
}

function said(message: InboundMessage): string {
  return isPointing(message) ? POINTING : markedWords(message.text, message.marks);
}
