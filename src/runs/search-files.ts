// a workspace -> its files, whatever their size and bytes -> which hold one of these texts, and which cannot
//   be searched: packed ones, and what would take too long
import type { Dirent } from 'node:fs';
import { type FileHandle, lstat, readdir, readlink } from 'node:fs/promises';
import type { ByteSearch } from '../lib/byte-search.ts';
import { isErrno } from '../lib/errno.ts';
import { PathRefusal, WorkspaceDirectory } from '../workspace/path.ts';

const MOST_FILES = 20_000;
/** Of one workspace. A file may claim to be of any size without taking up room. */
const MOST_BYTES = 8 * 1024 ** 3;
/** Bytes that are looked at between two looks at what else is to be done. */
const SLICE_BYTES = 256 * 1024;
/** A PDF may begin with other bytes (ISO 32000-1, implementation note 13). */
const PDF_WITHIN = 1_024;
/**
 * How files begin whose words are packed: zip (also docx, xlsx, odt and epub), gzip, bzip2, xz, zstd, lz4,
 * 7z, rar, cab, what Office keeps under a password, and objects of git.
 */
const PACKED = ['PK\x03\x04', 'PK\x05\x06', '\x1f\x8b', 'BZh', '\xfd7zXZ\0', '\x28\xb5\x2f\xfd', '\x04\x22\x4d\x18', '7z\xbc\xaf']
  .concat(['Rar!', 'MSCF', 'PACK', 'x\x01', 'x\x9c', 'x\xda', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'])
  .map((start) => Buffer.from(start, 'latin1'));
/** Packed or encrypted, and known by their ending alone. */
const PACKED_NAME = /\.(?:br|lzma|gpg|age)$/i;

/** What was read so far of all workspaces. */
export interface Searched {
  readonly files: number;
  readonly bytes: number;
}

export interface SearchOptions {
  readonly searches: readonly ByteSearch[];
  readonly signal?: AbortSignal | undefined;
  /** Called often. */
  readonly onProgress?: ((read: Searched) => void) | undefined;
}

export interface FoundFile {
  /** In the workspace. */
  readonly path: string;
  /**
   * `words`: in its bytes, its name, or the target of the link that it is. `packed`: none was found, and some
   * may be hidden. `unread`: it is closed to this process, too large, or its name is no UTF-8.
   */
  readonly kind: 'words' | 'packed' | 'unread';
  readonly birthtimeMs: number;
  readonly ctimeMs: number;
}

interface Looked {
  /** Bytes. */
  readonly read: number;
  readonly kind?: FoundFile['kind'];
}

/** Searches one workspace after the other, in memory that does not depend on the files. */
export class FileSearch {
  readonly #options: SearchOptions;
  readonly #longest: number;
  readonly #buffer: Buffer;
  readonly #sum = { files: 0, bytes: 0 };

  constructor(options: SearchOptions) {
    this.#options = options;
    this.#longest = Math.max(1, ...options.searches.map(({ longest }) => longest));
    this.#buffer = Buffer.allocUnsafe(SLICE_BYTES + this.#longest);
  }

  /**
   * `onMore`: there are more files than are looked at. `isSkipped`: by the name at the top. Rejects with the
   * reason of the signal, and as the disk does.
   */
  async *in(workspace: string, onMore: () => unknown, isSkipped = (_name: string) => false): AsyncIterable<FoundFile> {
    let [files, bytes] = [MOST_FILES, MOST_BYTES];
    const within: string[][] = [[]];
    for (let names = within.pop(); names !== undefined; names = within.pop()) {
      try {
        await using directory = await WorkspaceDirectory.open(workspace, names);
        for (const entry of await readdir(directory.self, { withFileTypes: true })) {
          const path = [...names, entry.name];
          if (isSkipped(path[0] ?? '')) continue;
          if (entry.isDirectory()) within.push(path);
          files -= 1;
          if (files < 0) return onMore();
          const { read, kind } = await this.#look(directory, entry, bytes);
          bytes -= read;
          if (kind) {
            const { birthtimeMs, ctimeMs } = await timesOf(directory.child(entry.name));
            yield { kind, path: path.join('/'), birthtimeMs, ctimeMs };
          }
        }
      } catch (error) {
        if (names.length > 0 && (isClosed(error) || names.some(isNoText)))
          yield { kind: 'unread', path: names.join('/'), birthtimeMs: 0, ctimeMs: Date.now() };
        else if (!isGone(error)) throw error;
      }
    }
  }

  async #look(directory: WorkspaceDirectory, entry: Dirent, left: number): Promise<Looked> {
    const { name } = entry;
    if (this.#isIn(Buffer.from(name))) return { read: 0, kind: 'words' };
    try {
      if (entry.isSymbolicLink() && this.#isIn(Buffer.from(await readlink(directory.child(name)))))
        return { read: 0, kind: 'words' };
      if (!entry.isFile()) return { read: 0 };
      await using file = await directory.openFile(name);
      const { size } = await file.stat();
      this.#sum.files += 1;
      if (size > left) return { read: 0, kind: 'unread' };
      const { hasWords, isPacked } = await this.#read(file, size);
      if (hasWords) return { read: size, kind: 'words' };
      return isPacked || PACKED_NAME.test(name) ? { read: size, kind: 'packed' } : { read: size };
    } catch (error) {
      if (isClosed(error) || isNoText(name)) return { read: 0, kind: 'unread' };
      if (isGone(error)) return { read: 0 };
      throw error;
    }
  }

  #isIn(bytes: Buffer): boolean {
    return this.#options.searches.some((search) => search.isIn(bytes));
  }

  /** Slice by slice; each begins with the end of the one before, in which a text may have begun. */
  async #read(file: FileHandle, size: number): Promise<{ readonly hasWords: boolean; readonly isPacked: boolean }> {
    const { signal, onProgress } = this.#options;
    let [kept, isPacked] = [0, false];
    for (let at = 0; at < size; ) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(this.#buffer, kept, Math.min(SLICE_BYTES, size - at), at);
      if (bytesRead === 0) break;
      const slice = this.#buffer.subarray(0, kept + bytesRead);
      if (at === 0) isPacked = isPackedStart(slice);
      if (this.#isIn(slice)) return { hasWords: true, isPacked };
      kept = Math.min(this.#longest - 1, slice.length);
      this.#buffer.copyWithin(0, slice.length - kept, slice.length);
      at += bytesRead;
      this.#sum.bytes += bytesRead;
      onProgress?.(this.#sum);
    }
    return { hasWords: false, isPacked };
  }
}

/** To this process. A refusal of a path has what the system said as its cause. */
function isClosed(error: unknown): boolean {
  return isErrno(error instanceof PathRefusal ? error.cause : error, 'EACCES', 'EPERM');
}

/** A name that is no UTF-8 is read as another one, under which nothing can be opened. */
export function isNoText(name: string): boolean {
  return name.includes('\ufffd');
}

/** Of one that is gone: it was changed just now. */
async function timesOf(path: string): Promise<Pick<FoundFile, 'birthtimeMs' | 'ctimeMs'>> {
  return await lstat(path).catch(() => ({ birthtimeMs: 0, ctimeMs: Date.now() }));
}

function isPackedStart(bytes: Buffer): boolean {
  return PACKED.some((start) => bytes.subarray(0, start.length).equals(start)) || bytes.subarray(0, PDF_WITHIN).includes('%PDF-');
}

/** It went meanwhile, or a link took its place: then it is none of the workspace's files. */
export function isGone(error: unknown): boolean {
  return error instanceof PathRefusal || isErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM');
}
