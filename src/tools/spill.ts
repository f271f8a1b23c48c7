// bytes of an output -> head and tail in memory, the whole in a workspace file as soon as it is too large
import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { outputEnding } from '../core/call-key.ts';
import { isGatehouseError } from '../core/errors.ts';
import type { ClaimDisk, DiskClaim } from '../core/ports.ts';
import type { ToolContext, ToolResult } from '../core/tool.ts';
import { syncDirectory } from '../lib/atomic-file.ts';
import { WorkspaceDirectory } from '../workspace/path.ts';
import { OUTPUTS, pruneOutputs } from '../workspace/stored-outputs.ts';
import { headAndTail } from './output.ts';

/** For `Error: `, which may still come in front of what is shown. */
export const PREFIX_BYTES = 16;
/** Written at once: many small pieces are gathered. */
const BLOCK_BYTES = 1024 ** 2;
/** What is more is thrown away, and counted. */
const MAX_STORED_BYTES = 256 * 1024 ** 2;

export interface SpillOptions {
  /** Of the tool; the file is called by it. */
  readonly name: string;
  readonly context: Pick<ToolContext, 'workspace' | 'idempotencyKey' | 'signal'>;
  /** Absent = no limit. */
  readonly claimDisk?: ClaimDisk | undefined;
  /** See `Tool.outputBytes`. */
  readonly outputBytes: number;
}

/** What the model reads of an output, and where the rest is. Goes into a `ToolResult` as it is. */
export type Spilled = Pick<ToolResult, 'output' | 'stored'>;

/**
 * Takes an output of any size and holds no more than what is shown of it and one block. Where there is no
 * room for the whole, or the call is over, head and tail still come out, with the reason. Never rejects.
 *
 *     await using output = new OutputSink({ name: 'shell', context, claimDisk, outputBytes: 30_000 });
 *     for await (const chunk of child.stdout) await output.write(chunk);
 *     return await output.end();
 */
export class OutputSink implements AsyncDisposable {
  readonly #options: SpillOptions;
  /** Of what is shown. An output of so many bytes is shown as a whole. */
  readonly #shownBytes: number;
  readonly #tailBytes: number;
  #head: Buffer[] = [];
  #headHas = 0;
  #tail: Buffer[] = [];
  #tailHas = 0;
  /** Absent up to the first byte. Used again for each block, so that no chunk leaves garbage. */
  #block: Buffer | undefined;
  #blockHas = 0;
  #bytes = 0;
  #file: StoredFile | undefined;
  /** Why nothing more is stored. */
  #refused: string | undefined;

  constructor(options: SpillOptions) {
    this.#options = options;
    this.#shownBytes = options.outputBytes - PREFIX_BYTES;
    this.#tailBytes = Math.ceil(this.#shownBytes * 0.3) + 4;
  }

  /** Resolves when more may come: whoever reads a program waits for it. The chunk may be used again then. */
  async write(chunk: Uint8Array | string): Promise<void> {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : asBuffer(chunk);
    this.#bytes += bytes.length;
    if (this.#headHas < this.#shownBytes) this.#keepHead(bytes);
    this.#keepTail(bytes);
    // Up to what can be shown as a whole there is no file.
    for (let rest = bytes; rest.length > 0 && this.#refused === undefined; ) {
      this.#block ??= Buffer.allocUnsafe(Math.max(BLOCK_BYTES, this.#shownBytes + 1));
      const taken = rest.copy(this.#block, this.#blockHas);
      this.#blockHas += taken;
      rest = rest.subarray(taken);
      if (this.#blockHas === this.#block.length) await this.#flush();
    }
  }

  /** Once, when nothing more comes. */
  async end(): Promise<Spilled> {
    const maxBytes = this.#shownBytes;
    if (this.#bytes <= maxBytes) return { output: Buffer.concat(this.#head).toString('utf8') };
    if (this.#refused === undefined) await this.#flush();
    const stored = await this.#file?.close(this.#refused === undefined).catch((error: unknown) => void this.#refuse(error));
    const where = (omitted: number) => `${omitted} bytes omitted${this.#told(stored)}`;
    const ends = [Buffer.concat(this.#head), Buffer.concat(this.#tail)] as const;
    const shown = headAndTail(...ends, { bytes: this.#bytes, maxBytes, where });
    return stored ? { output: shown, stored: { path: stored.path, bytes: this.#bytes } } : { output: shown };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.[Symbol.asyncDispose]();
  }

  #told(stored: Stored | undefined): string {
    if (!stored) return this.#refused === undefined ? '' : `, which are lost: ${this.#refused}`;
    const page = `read_file pages it by start_line and end_line`;
    if (this.#refused === undefined) return `; all ${this.#bytes} bytes are in ${stored.path}: ${page}`;
    return `; the first ${stored.bytes} of ${this.#bytes} bytes are in ${stored.path}, the rest is lost: ${this.#refused}; ${page}`;
  }

  #keepHead(bytes: Buffer): void {
    const part = Buffer.from(bytes.subarray(0, this.#shownBytes - this.#headHas));
    this.#head.push(part);
    this.#headHas += part.length;
  }

  #keepTail(bytes: Buffer): void {
    const part = Buffer.from(bytes.subarray(-this.#tailBytes));
    this.#tail.push(part);
    this.#tailHas += part.length;
    if (this.#tailHas < 2 * this.#tailBytes && this.#tail.length < 1_000) return;
    const kept = Buffer.from(Buffer.concat(this.#tail).subarray(-this.#tailBytes));
    this.#tail = [kept];
    this.#tailHas = kept.length;
  }

  async #flush(): Promise<void> {
    const block = this.#block?.subarray(0, this.#blockHas) ?? Buffer.alloc(0);
    this.#blockHas = 0;
    try {
      this.#options.context.signal.throwIfAborted();
      this.#file ??= await StoredFile.create(this.#options);
      const room = MAX_STORED_BYTES - this.#file.bytes;
      await this.#file.write(block.subarray(0, room));
      if (block.length > room) this.#refused = `a file of outputs has at most ${MAX_STORED_BYTES / 1024 ** 2} MiB`;
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** A text for the model: no path of the system, see A48. */
  #refuse(error: unknown): void {
    if (this.#options.context.signal.aborted) this.#refused = 'the call was ended';
    else if (isGatehouseError(error) && error.code === 'GH1508') this.#refused = `${error.message} (GH1508)`;
    else this.#refused = 'the file of outputs could not be written';
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

interface Stored {
  readonly path: string;
  readonly bytes: number;
}

/** The file below `.gatehouse/outputs`; its name is the same on every attempt at the call. */
class StoredFile implements AsyncDisposable {
  readonly #folder: WorkspaceDirectory;
  readonly #file: FileHandle;
  readonly #room: DiskClaim | undefined;
  readonly #path: string;
  #closed = false;
  bytes = 0;

  private constructor(parts: { folder: WorkspaceDirectory; file: FileHandle; room: DiskClaim | undefined; path: string }) {
    this.#folder = parts.folder;
    this.#file = parts.file;
    this.#room = parts.room;
    this.#path = parts.path;
  }

  static async create({ name, context, claimDisk }: SpillOptions): Promise<StoredFile> {
    const { workspace, idempotencyKey, signal } = context;
    const file = `${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 40)}${outputEnding(idempotencyKey)}`;
    await using parts = new AsyncDisposableStack();
    const folder = parts.use(await WorkspaceDirectory.open(workspace, OUTPUTS, { create: true }));
    await pruneOutputs(folder);
    const room = await claimDisk?.(workspace, 0, signal);
    if (room) parts.use(room);
    // A21: a link or a second name that lies there is taken away, and never written through.
    await rm(folder.child(file), { force: true, recursive: true });
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const handle = await open(folder.child(file), flags, 0o600);
    parts.move();
    return new StoredFile({ folder, file: handle, room, path: [...OUTPUTS, file].join('/') });
  }

  async write(block: Buffer): Promise<void> {
    await this.#room?.cover(this.bytes + block.length);
    await this.#file.writeFile(block);
    this.bytes += block.length;
  }

  /** `whole`: nothing of it is missing, so it is worth a wait for the disk. */
  async close(whole: boolean): Promise<Stored | undefined> {
    const { bytes } = this;
    try {
      if (whole) await this.#file.datasync();
      if (whole) await syncDirectory(this.#folder.self);
      this.#room?.stored(bytes);
    } finally {
      await this[Symbol.asyncDispose]();
    }
    return { path: this.#path, bytes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
    await this.#folder[Symbol.asyncDispose]();
    this.#room?.[Symbol.dispose]();
  }
}
