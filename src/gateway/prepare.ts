// inbound message -> files in the session's workspace -> words of recordings -> the text the agent reads
import { open, rename, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Channel } from '../core/channel.ts';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import { shortHash } from '../core/ids.ts';
import type { Transcriber } from '../core/media-models.ts';
import type { InboundMessage, MediaRef } from '../core/message.ts';
import { extensionOf } from '../lib/media-types.ts';
import { IMAGE_HEAD_BYTES, ImageQuota, imageTypeOf } from '../llm/vision.ts';
import { WorkspaceDirectory } from '../tools/workspace-path.ts';
import { oneLine } from './one-line.ts';
import { transcribe, transcriptionTimedOut, transcriptLine } from './voice-notes.ts';

/** Longest quotation handed to the agent, in UTF-16 units. */
const QUOTE_LIMIT = 500;
/** Files of one message that are fetched; the rest is named only. */
const MAX_FILES = 10;
const TRANSCRIPTION_MS = 120_000;
const UPLOADS = 'uploads';

/** RFC 6838 section 4.2. Anything else is a stranger's text, not a type. */
const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/i;

export interface Prepared {
  readonly text: string;
  /** Paths relative to the workspace. */
  readonly media: readonly string[];
}

export interface PrepareOptions {
  readonly channel: Channel | undefined;
  readonly workspace: string;
  /** Fetching all files of one message may take this long. */
  readonly timeoutMs: number;
  /** Turns recordings into text. Absent: the agent is told only that one came. */
  readonly transcriber?: Transcriber;
  /** Transcribing all recordings of one message may take this long. ms. Default 120 s: two at the limit of one. */
  readonly transcriptionMs?: number;
  readonly signal: AbortSignal;
  /** A file that could not be fetched, or a recording that could not be transcribed (GH2114). */
  readonly onMediaError: (media: MediaRef, error: unknown) => void;
}

/** What became of one file. */
interface Fetched {
  readonly ref: MediaRef;
  readonly note: string;
  readonly file?: { readonly path: string; readonly name: string; readonly mime: string; readonly bytes: number };
}

/** Fetches files and writes what the agent reads. A file that cannot be had is noted in the text; the message is answered all the same. */
export async function prepare(message: InboundMessage, options: PrepareOptions): Promise<Prepared> {
  const words = [background(message), quotation(message), author(message) + message.text];
  // Before the time limit is set: its timer would stay for a minute behind every message.
  if (message.media.length === 0) return { text: joined(words), media: [] };
  const files = await fetchFiles(message, options);
  const transcripts = await transcribeAll(files, options);
  const notes = files.flatMap((file) => [transcripts.get(file) ?? '', file.note]);
  const left = message.media.length - files.length;
  if (left > 0) notes.push(`[${left} more files were not fetched: the limit is ${MAX_FILES} per message]`);
  return { text: joined([...words, ...notes]), media: files.flatMap(({ file }) => (file ? [file.path] : [])) };
}

async function fetchFiles(message: InboundMessage, options: PrepareOptions): Promise<readonly Fetched[]> {
  const files: Fetched[] = [];
  const images = new ImageQuota();
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  for (const [index, ref] of message.media.slice(0, MAX_FILES).entries()) {
    try {
      const { name, bytes, isImage } = await fetchFile(message, ref, index, options, signal);
      const path = join(UPLOADS, name);
      const mime = ref.mime !== undefined && MEDIA_TYPE.test(ref.mime) ? ref.mime : '';
      const refusal = isImage ? images.refuse(bytes) : undefined;
      const unseen = refusal === undefined ? '' : `; not shown as a picture: ${refusal}`;
      const note = `[${label(ref)}: ${path} (${mime === '' ? '' : `${mime}, `}${bytes} bytes)${unseen}]`;
      files.push({ ref, note, file: { path, name, mime, bytes } });
    } catch (error) {
      options.signal.throwIfAborted();
      options.onMediaError(ref, error);
      const code = isGatehouseError(error) ? error.code : 'GH1505';
      files.push({ ref, note: `[${label(ref)} could not be fetched (${code}); it is not available]` });
    }
  }
  return files;
}

/** The lines with the words of each recording. One after the other: a chat sends one voice note at a time. */
async function transcribeAll(files: readonly Fetched[], options: PrepareOptions): Promise<ReadonlyMap<Fetched, string>> {
  const lines = new Map<Fetched, string>();
  const { transcriber, workspace } = options;
  const spoken = files.filter(({ ref, file }) => file && (ref.kind === 'voice' || ref.kind === 'audio'));
  if (!transcriber || spoken.length === 0) return lines;
  const limit = AbortSignal.timeout(options.transcriptionMs ?? TRANSCRIPTION_MS);
  const signal = AbortSignal.any([options.signal, limit]);
  for (const entry of spoken) {
    const { ref, file } = entry;
    if (!file) continue;
    try {
      const onUnstored = (error: unknown): void => options.onMediaError(ref, error);
      const text = await transcribe({ ...file, folder: UPLOADS }, workspace, transcriber, { signal, onUnstored });
      lines.set(entry, transcriptLine(text, file.path));
    } catch (error) {
      options.signal.throwIfAborted();
      options.onMediaError(ref, limit.aborted ? transcriptionTimedOut(error) : toTranscriptionError(error));
      lines.set(entry, `[${label(ref)} could not be transcribed (GH2114); its words are not known]`);
    }
  }
  return lines;
}

function toTranscriptionError(error: unknown): GatehouseError {
  return isGatehouseError(error) ? error : new GatehouseError('GH2114', errorText(error), { cause: error });
}

function joined(lines: readonly string[]): string {
  return lines.filter((line) => line !== '').join('\n');
}

function label(ref: MediaRef): string {
  return { photo: 'Photo', voice: 'Voice note', audio: 'Audio file', video: 'Video', document: 'File' }[ref.kind];
}

function background({ background: lines }: InboundMessage): string {
  if (!lines) return '';
  const said = lines.map(({ senderName, text }) => `  [${oneLine(senderName, 64)}] ${oneLine(text, QUOTE_LIMIT)}`);
  return ['[said in this group since you last spoke, not to you:', ...said, ']'].join('\n');
}

function quotation(message: InboundMessage): string {
  if (!message.replyTo?.text) return '';
  return `[in reply to ${message.replyTo.fromBot ? 'you' : 'another message'}: “${oneLine(message.replyTo.text, QUOTE_LIMIT)}”]`;
}

function author(message: InboundMessage): string {
  const correction = message.kind === 'edit' ? '[correction of an earlier message] ' : '';
  return message.isGroup ? `${correction}[${oneLine(message.senderName, 64)}] ` : correction;
}

/**
 * The name on disk is ours: derived from the message so that a repeated fetch overwrites, with at most the extension taken
 * from the sender, else from the media type (attack A23).
 */
async function fetchFile(
  message: InboundMessage,
  ref: MediaRef,
  index: number,
  options: PrepareOptions,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly bytes: number; readonly isImage: boolean }> {
  const channel = options.channel;
  if (!channel?.download) throw new GatehouseError('GH1505', `channel ${message.channel} cannot fetch files`);
  if (ref.size !== undefined && ref.size > channel.limits.downloadBytes) throw tooLarge(channel.limits.downloadBytes);
  const named = /^\.[a-z0-9]{1,8}$/i.exec(extname(ref.name ?? ''))?.[0]?.toLowerCase();
  // Photos and voice notes have no name: without an extension nobody could tell what they are, and they would go out as documents.
  const extension = named ?? extensionOf(ref.mime ?? '') ?? '';
  const name = `${shortHash(`${message.id}\n${index}`)}${extension}`;
  await using folder = await WorkspaceDirectory.open(options.workspace, [UPLOADS], { create: true });
  const partial = folder.child(`${name}.part`);
  // Whatever lies there, from an attempt that a crash ended or put there by a tool, is unlinked and never written through (A21).
  await rm(partial, { force: true, recursive: true });
  const handle = await open(partial, 'wx', 0o600);
  try {
    // Opened before the download: a connection to the platform is then always read or let go.
    const file = await channel.download(ref, signal);
    let total = 0;
    let head: Uint8Array = new Uint8Array();
    for await (const chunk of file.bytes) {
      signal.throwIfAborted();
      total += chunk.byteLength;
      if (total > channel.limits.downloadBytes) throw tooLarge(channel.limits.downloadBytes);
      if (head.byteLength < IMAGE_HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, IMAGE_HEAD_BYTES)]);
      // Not `write`, which on a full disk may store half of it and say so in its result only.
      await handle.writeFile(chunk);
    }
    await handle.close();
    await rename(partial, folder.child(name));
    return { name, bytes: total, isImage: imageTypeOf(head) !== undefined };
  } catch (error) {
    await handle.close();
    await rm(partial, { force: true });
    throw isGatehouseError(error)
      ? error
      : new GatehouseError('GH1505', `a file was not fetched: ${errorText(error)}`, { cause: error });
  }
}

function tooLarge(limit: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${limit} bytes`);
}
