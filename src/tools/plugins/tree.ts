// directory of a plugin -> every byte of it read once, by descriptor: counted, hashed, and copied where asked
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lchown, mkdir, open, opendir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import { syncDirectory } from '../../lib/atomic-file.ts';
import { spellOut } from '../../lib/spell-out.ts';
import { PathRefusal, WorkspaceDirectory } from '../../workspace/path.ts';
import { MANIFEST, MAX_MANIFEST_BYTES } from './manifest.ts';

/** Of a directory or an archive of a plugin. */
export interface Limits {
  readonly files: number;
  /** Of one file: an executable is no larger. */
  readonly fileBytes: number;
  readonly bytes: number;
  readonly depth: number;
}

export const LIMITS: Limits = { files: 2_000, fileBytes: 100 * 1024 ** 2, bytes: 200 * 1024 ** 2, depth: 16 };

const BLOCK_BYTES = 256 * 1024;
const SET_ID = 0o6000;

export interface TreeFile {
  /** With `/`, relative to the directory. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly executable: boolean;
}

export interface Tree {
  readonly files: readonly TreeFile[];
  /** SHA-256 over paths, sizes, contents and rights of all files, hexadecimal. */
  readonly digest: string;
  /** Of the manifest, as they were hashed. Absent = there is none. */
  readonly manifest?: Uint8Array;
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface CopyOptions {
  readonly copyTo?: string;
  /** Of the copy. Default: who makes it. */
  readonly owner?: Owner | undefined;
}

/**
 * Reads a whole directory. What it holds beside plain files and directories is refused: links, devices,
 * pipes, sockets, and files that take another user's rights. With `copyTo`, a directory that is there and
 * empty, what was hashed is written there as it is read, so that the copy is what the digest says whatever
 * happens to the original meanwhile: files 0500 where they may be run, else 0400. Rejects with GH2401.
 */
export async function readTree(root: string, { copyTo, owner }: CopyOptions = {}): Promise<Tree> {
  try {
    const reader = new Reader(owner);
    // From its parent on: it must be no link itself.
    await using directory = await WorkspaceDirectory.open(dirname(root), [basename(root)]);
    await reader.read(directory, [], copyTo);
    return reader.tree();
  } catch (error) {
    if (error instanceof PathRefusal) throw refused(error.message);
    throw error;
  }
}

class Reader {
  readonly #files: TreeFile[] = [];
  readonly #owner: Owner | undefined;
  #manifest: Uint8Array | undefined;
  #entries = 0;
  #bytes = 0;

  constructor(owner: Owner | undefined) {
    this.#owner = owner;
  }

  async read(directory: WorkspaceDirectory, at: readonly string[], copyTo: string | undefined): Promise<void> {
    if (at.length > LIMITS.depth) throw refused(`it is more than ${LIMITS.depth} directories deep`);
    for await (const { name } of await opendir(directory.self)) {
      this.#entries += 1;
      if (this.#entries > LIMITS.files) throw refused(`it has more than ${LIMITS.files} files`);
      if (!isPlainName(name)) throw refused(`the name ${spellOut(name)} holds characters that people cannot see`);
      await this.#entry(directory, [...at, name], copyTo);
    }
    if (copyTo !== undefined) await syncDirectory(copyTo);
  }

  tree(): Tree {
    const files = this.#files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const lines = files.map(({ path, bytes, sha256, executable }) => JSON.stringify([path, bytes, sha256, executable]));
    const digest = createHash('sha256').update(lines.join('\n')).digest('hex');
    return { files, digest, ...(this.#manifest ? { manifest: this.#manifest } : {}) };
  }

  async #entry(directory: WorkspaceDirectory, at: readonly string[], copyTo: string | undefined): Promise<void> {
    const name = at.at(-1) ?? '';
    const target = copyTo === undefined ? undefined : join(copyTo, name);
    const below = await enterIfDirectory(directory, name);
    if (below) {
      await using _ = below;
      if (target !== undefined) {
        await mkdir(target, { mode: 0o700 });
        if (this.#owner) await lchown(target, this.#owner.uid, this.#owner.gid);
      }
      await this.read(below, at, target);
      return;
    }
    await using file = await directory.openFile(name);
    await this.#file(file, at.join('/'), target);
  }

  async #file(file: FileHandle, path: string, target: string | undefined): Promise<void> {
    const { mode, size } = await file.stat();
    if ((mode & SET_ID) !== 0) throw refused(`${path} takes the rights of another user (setuid or setgid)`);
    if (size > LIMITS.fileBytes) throw tooLarge(path);
    const executable = (mode & 0o111) !== 0;
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await using copy = target === undefined ? undefined : await open(target, flags, 0o600);
    const kept: Buffer[] | undefined = path === MANIFEST ? [] : undefined;
    const hash = createHash('sha256');
    let bytes = 0;
    // A block that is read again: nothing keeps it.
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(block, 0, BLOCK_BYTES, null);
      if (bytesRead === 0) break;
      const read = block.subarray(0, bytesRead);
      bytes += bytesRead;
      this.#bytes += bytesRead;
      // It may grow while it is read.
      if (bytes > LIMITS.fileBytes) throw tooLarge(path);
      if (this.#bytes > LIMITS.bytes) throw refused(`it has more than ${LIMITS.bytes / 1024 ** 2} MiB`);
      if (kept && bytes > MAX_MANIFEST_BYTES) throw refused(`${MANIFEST} has more than ${MAX_MANIFEST_BYTES} bytes`);
      kept?.push(Buffer.from(read));
      hash.update(read);
      await copy?.writeFile(read);
    }
    if (this.#owner) await copy?.chown(this.#owner.uid, this.#owner.gid);
    await copy?.chmod(executable ? 0o500 : 0o400);
    await copy?.sync();
    if (kept) this.#manifest = Buffer.concat(kept);
    this.#files.push({ path, bytes, sha256: hash.digest('hex'), executable });
  }
}

async function enterIfDirectory(directory: WorkspaceDirectory, name: string): Promise<WorkspaceDirectory | undefined> {
  try {
    return await directory.enter(name);
  } catch (error) {
    // Anything else is judged when it is opened as a file.
    if (error instanceof PathRefusal) return undefined;
    throw error;
  }
}

/** Any script, but nothing that is not seen. */
export function isPlainName(name: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(name) && spellOut(name) === JSON.stringify(name) && !name.includes('\\');
}

function tooLarge(path: string): GatehouseError {
  return refused(`${path} has more than ${LIMITS.fileBytes / 1024 ** 2} MiB`);
}

function refused(what: string): GatehouseError {
  return new GatehouseError('GH2401', `the plugin is refused: ${what}`);
}
