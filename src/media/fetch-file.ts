// reference -> bytes of the platform, within the channel's limit -> a file, named and judged by its bytes
import { lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Channel } from '../core/channel.ts';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import { shortHash } from '../core/ids.ts';
import type { InboundMessage, MediaRef } from '../core/message.ts';
import type { ClaimDisk } from '../core/ports.ts';
import { syncDirectory } from '../lib/atomic-file.ts';
import { settledOrAborted } from '../lib/time-limit.ts';
import { WorkspaceDirectory } from '../workspace/path.ts';
import { workspaceLock } from '../workspace/workspace-lock.ts';
import { FILE_HEAD_BYTES, isRecording, settleType } from './file-type.ts';
import { IMAGE_SCAN_BYTES, imageFault } from './image-size.ts';
import { extensionOf } from './media-types.ts';
import { imageTypeOf, MAX_IMAGE_BYTES } from './pictures.ts';

/** Folder of the workspace where files of people lie. */
export const UPLOADS = 'uploads';

/** RFC 6838 section 4.2. Anything else is a stranger's text, not a type. */
const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/i;

export interface StoredFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly folder: string;
  readonly name: string;
  /**
   * By its bytes; as stated where they have no mark and the statement names nothing that would have one. ''
   * = unknown.
   */
  readonly mime: string;
  readonly bytes: number;
  /**
   * Set for a file that begins as a picture of a kind that models take. `damaged`: it must not be shown to
   * one.
   */
  readonly picture?: 'whole' | 'damaged' | 'long';
  readonly isRecording: boolean;
}

/**
 * The channel that can fetch; waits for one that is being replaced. Undefined where there is none. Rejects
 * with `signal.reason`.
 */
export type FindChannel = (signal: AbortSignal) => Promise<Channel | undefined>;

/** Where files of people are counted. Housekeeping looks at the workspaces that are named here. */
export interface UploadBook {
  /** Called before a file is fetched. */
  readonly claim: ClaimDisk;
  /** Called after it was stored. */
  note(workspace: string): Promise<void>;
}

export interface FetchFileOptions {
  readonly channel: FindChannel;
  readonly workspace: string;
  /** Absent: no limit. */
  readonly uploads?: UploadBook | undefined;
  readonly signal: AbortSignal;
}

/**
 * Fetches one file into the workspace. Its name is ours: derived from the message so that a repeated fetch
 * overwrites, with an ending that its bytes do not contradict (A23). It is on disk when this resolves: the
 * journal may name it then. Rejects with GH1504 above the channel's limit, GH1507 for a picture that would
 * fill the memory of the process that opens it (F39), GH1508 where there is no room, GH1505 for everything
 * else, a channel that does not come back in time included; nothing is left behind then.
 */
export async function fetchFile(
  message: InboundMessage,
  ref: MediaRef,
  index: number,
  options: FetchFileOptions,
): Promise<StoredFile> {
  const { signal, workspace, uploads } = options;
  const channel = await options.channel(signal).catch((error: unknown) => {
    throw new GatehouseError('GH1505', `channel ${message.channel} was not there in time`, { cause: error });
  });
  if (!channel?.download) throw new GatehouseError('GH1505', `channel ${message.channel} cannot fetch files`);
  if (ref.size !== undefined && ref.size > channel.limits.downloadBytes) throw tooLarge(channel.limits.downloadBytes);
  const stem = storedStem(message, index);
  await using folder = await WorkspaceDirectory.open(workspace, [UPLOADS], { create: true });
  // Disposed of when nothing is left of a file that was not stored.
  using room = await uploads?.claim(workspace, ref.size ?? 0, signal);
  const partial = folder.child(`${stem}.part`);
  // What a crashed attempt left or a tool put there is unlinked and never written through (A21).
  await rm(partial, { force: true, recursive: true });
  const handle = await open(partial, 'wx', 0o600);
  let left = partial;
  try {
    // Opened before the download: a connection to the platform is then always read or let go.
    const file = await settledOrAborted(channel.download(ref, signal), signal);
    const head = new Head();
    let total = 0;
    for await (const chunk of chunksUntilAborted(file.bytes, signal)) {
      total += chunk.byteLength;
      if (total > channel.limits.downloadBytes) throw tooLarge(channel.limits.downloadBytes);
      // Not every platform states a size, or the right one: what is written is covered before it is.
      await room?.cover(total);
      head.add(chunk);
      // Not `write`, which on a full disk may store half of it and say so in its result only.
      await handle.writeFile(chunk);
    }
    await handle.sync();
    await handle.close();
    const judged = judge(head.bytes, total, ref);
    const name = `${stem}${judged.ending}`;
    using _ = (await isThere(folder.child(name)))
      ? await workspaceLock.write({ workspace, idempotencyKey: `${UPLOADS}/${name}`, signal })
      : undefined;
    await rename(partial, folder.child(name));
    left = folder.child(name);
    await syncDirectory(folder.self);
    await uploads?.note(workspace);
    room?.stored(total);
    const { ending: _ending, ...rest } = judged;
    return { path: join(UPLOADS, name), folder: UPLOADS, name, bytes: total, ...rest };
  } catch (error) {
    await handle.close();
    await rm(left, { force: true });
    throw isGatehouseError(error)
      ? error
      : new GatehouseError('GH1505', `a file was not fetched: ${errorText(error)}`, { cause: error });
  }
}

/** The chunks, or `signal.reason` once it aborts, whether or not their source heeds it. */
async function* chunksUntilAborted(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const source = bytes[Symbol.asyncIterator]();
  try {
    while (true) {
      const next = await settledOrAborted(source.next(), signal);
      if (next.done) return;
      signal.throwIfAborted();
      yield next.value;
      // One that is asked after the abort may wait for it in vain, and would never be let go.
      signal.throwIfAborted();
    }
  } finally {
    // One that hangs in `next` hangs in `return`, too; a failure of letting go changes nothing about the
    // file.
    await settledOrAborted(Promise.resolve(source.return?.()), signal).catch(() => undefined);
  }
}

/** A file that is replaced may be one that a person allowed a program to run. */
async function isThere(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

/** What the names of all that is stored for one file of a message begin with; a dot follows. */
export function storedStem({ id }: Pick<InboundMessage, 'id'>, index: number): string {
  return shortHash(`${id}\n${index}`);
}

/** Removes all that was stored for these files of a message, with what was written beside them. */
export async function removeStored(
  workspace: string,
  files: readonly { readonly message: Pick<InboundMessage, 'id'>; readonly index: number }[],
): Promise<void> {
  // Where nothing was fetched there may be no folder of uploads.
  if (!(await readdir(workspace)).includes(UPLOADS)) return;
  await using folder = await WorkspaceDirectory.open(workspace, [UPLOADS]);
  const stems = new Set(files.map(({ message, index }) => storedStem(message, index)));
  const names = (await readdir(folder.self)).filter((name) => stems.has(name.split('.', 1)[0] ?? ''));
  for (const name of names) await rm(folder.child(name), { force: true });
}

/** Keeps the beginning of a file: little of it, unless it is a picture, whose headers may lie further in. */
class Head {
  #chunks: Uint8Array[] = [];
  #length = 0;
  #limit = FILE_HEAD_BYTES;

  add(chunk: Uint8Array): void {
    if (this.#length >= this.#limit) return;
    this.#chunks.push(chunk.subarray(0, IMAGE_SCAN_BYTES - this.#length));
    this.#length += chunk.byteLength;
    if (this.#length >= this.#limit && settleType(this.bytes, {}).mime?.startsWith('image/')) this.#limit = IMAGE_SCAN_BYTES;
  }

  get bytes(): Uint8Array {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? new Uint8Array();
  }
}

function judge(
  head: Uint8Array,
  bytes: number,
  ref: MediaRef,
): Pick<StoredFile, 'mime' | 'picture' | 'isRecording'> & { ending: string } {
  const named = /^\.[a-z0-9]{1,8}$/i.exec(extname(ref.name ?? ''))?.[0];
  const stated = ref.mime !== undefined && MEDIA_TYPE.test(ref.mime) ? ref.mime : undefined;
  const { mime = '', ending } = settleType(head, { mime: stated, ending: named });
  const seen = { mime, ending: ending === '' ? (extensionOf(mime) ?? '') : ending, isRecording: isRecording(head) };
  if (!mime.startsWith('image/')) return seen;
  const fault = imageFault(head);
  if (fault?.kind === 'bomb') throw new GatehouseError('GH1507', `a picture was refused: ${fault.detail}`);
  if (imageTypeOf(head) === undefined) return seen;
  // One that is too large for a model was not looked at to its end.
  const shown = fault && bytes <= MAX_IMAGE_BYTES ? fault.kind : 'whole';
  return { ...seen, picture: shown };
}

function tooLarge(limit: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${limit} bytes`);
}
