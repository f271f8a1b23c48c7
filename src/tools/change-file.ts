// path -> not in .git -> no approved call beside it, one change of a file at a time -> judged -> room claimed
//   -> written beside it, renamed over it
import { isUtf8 } from 'node:buffer';
import { type FileHandle, lstat } from 'node:fs/promises';
import { isGatehouseError } from '../core/errors.ts';
import type { ClaimDisk } from '../core/ports.ts';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { isErrno } from '../lib/errno.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { openParent, splitWorkspacePath, type WorkspaceDirectory } from '../workspace/path.ts';
import { type Writer, workspaceLock } from '../workspace/workspace-lock.ts';
import { ToolFailure } from './define.ts';

/** Spec G1, for reading and for writing. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024;
const NEW_FILE_MODE = 0o600;
/** Calls of one answer run beside each other: two changes of one file must not undo one another. */
const changes = new KeyedMutex();

export interface FileChange {
  readonly path: string;
  readonly context: Writer;
  /** Absent = no limit. */
  readonly claimDisk: ClaimDisk | undefined;
  /** Called once the file is written, where there was none before. */
  readonly onNew?: () => void;
}

/**
 * Writes a whole file, new or not; missing directories are made. Resolves with its bytes. Throws
 * `ToolFailure` or `PathRefusal` for what the model can mend; then the file is as it was.
 */
export async function writeWholeFile(change: FileChange, content: string | Uint8Array): Promise<number> {
  return await alone(change, { create: true }, async ({ parent, name }) => {
    const target = await judgeTarget(parent.child(name), change.path);
    const bytes = await replace(change, parent.child(name), content, target);
    if (target.mark === undefined) change.onNew?.();
    return bytes;
  });
}

/**
 * Changes a text file that is there: `edit` gets its text and returns the new one, or throws. What lies there
 * is replaced only when it still is what `edit` was given.
 */
export async function changeTextFile(change: FileChange, edit: (text: string) => string): Promise<void> {
  await alone(change, {}, async ({ parent, name }) => {
    const { path, context } = change;
    await using file = await parent.openFile(name);
    const read = await identity(file);
    const text = decoded(await readBounded(file, path, context.signal), path);
    const edited = edit(text);
    const target = await judgeTarget(parent.child(name), path);
    if (target.mark !== read) throw new ToolFailure(`${JSON.stringify(path)} changed meanwhile; read it again`);
    await replace(change, parent.child(name), edited, target);
  });
}

/** Counts while it reads: a file can grow after its size was looked at. */
export async function readBounded(file: FileHandle, path: string, signal: AbortSignal, limit = MAX_FILE_BYTES): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await file.read(Buffer.alloc(256 * 1024));
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > limit)
      throw new ToolFailure(`${JSON.stringify(path)} is larger than ${Math.floor((limit / 1024 ** 2) * 10) / 10} MiB`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

/** Text that is written back byte for byte where it is not changed. */
function decoded(bytes: Buffer, path: string): string {
  if (bytes.includes(0)) throw new ToolFailure(`${JSON.stringify(path)} is a binary file (${bytes.length} bytes)`);
  if (!isUtf8(bytes)) throw new ToolFailure(`${JSON.stringify(path)} is not UTF-8, so an edit would damage it`);
  return bytes.toString('utf8');
}

type Place = Awaited<ReturnType<typeof openParent>>;

async function alone<T>(
  { path, context }: FileChange,
  options: { readonly create?: true },
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const names = splitWorkspacePath(path);
  // A22: git runs what lies in there (hooks, core.fsmonitor), also for a mere `git status`.
  if (names.some(isGitDirectory)) throw new ToolFailure('files in a .git directory cannot be written');
  using _hold = await workspaceLock.write(context);
  return await changes.runExclusive([context.workspace, ...names].join('/'), async () => {
    context.signal.throwIfAborted();
    const place = await openParent(context.workspace, path, options);
    await using _: WorkspaceDirectory = place.parent;
    return await work(place);
  });
}

async function replace(change: FileChange, at: string, content: string | Uint8Array, target: Target): Promise<number> {
  const { context, claimDisk } = change;
  const bytes = typeof content === 'string' ? Buffer.byteLength(content, 'utf8') : content.byteLength;
  if (bytes > MAX_FILE_BYTES) throw new ToolFailure(`the content is larger than 10 MiB (${bytes} bytes)`);
  const more = bytes - target.size;
  using room = more > 0 ? await claimDisk?.(context.workspace, more, context.signal).catch(refuse) : undefined;
  context.signal.throwIfAborted();
  // The rename replaces the name in the directory that is held open, so a link put there meanwhile is
  // replaced, not followed.
  await writeFileAtomic(at, content, { mode: target.mode });
  room?.stored(more);
  return bytes;
}

/**
 * Whether some file system takes this name for `.git`, as git itself judges it (`is_ntfs_dotgit` and
 * `is_hfs_dotgit` in path.c and utf8.c): letter case, characters that are not seen, spaces and dots at the
 * end, a stream of NTFS behind a colon, and the short name that FAT gives it. The workspace may be copied to
 * such a file system, or lie on one.
 */
function isGitDirectory(name: string): boolean {
  const seen = name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase();
  const [base = ''] = seen.split(':', 1);
  return /^(?:\.git|git~\d+)[ .]*$/u.test(base);
}

function refuse(error: unknown): never {
  if (isGatehouseError(error) && error.code === 'GH1508') throw new ToolFailure(`${error.message} (GH1508)`);
  throw error;
}

interface Target {
  /** To keep, so that a script stays executable. */
  readonly mode: number;
  readonly size: number;
  /** Of a file that is there, see `identity`. */
  readonly mark: string | undefined;
}

interface Facts {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
}

/** Another one after every change of the content, as far as the file system tells. */
const markOf = ({ dev, ino, size, mtimeMs }: Facts): string => [dev, ino, size, mtimeMs].join(' ');

async function identity(file: FileHandle): Promise<string> {
  return markOf(await file.stat());
}

/** Refuses what must not be replaced. */
async function judgeTarget(target: string, path: string): Promise<Target> {
  const shown = JSON.stringify(path);
  try {
    const info = await lstat(target);
    if (info.isSymbolicLink()) throw new ToolFailure(`${shown} is a symbolic link, which tools do not follow`);
    if (info.isDirectory()) throw new ToolFailure(`${shown} is a directory`);
    if (!info.isFile()) throw new ToolFailure(`${shown} is not a regular file`);
    if (info.nlink > 1) throw new ToolFailure(`${shown} has other names (hard links), which a change would break`);
    return { mode: info.mode & 0o777, size: info.size, mark: markOf(info) };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { mode: NEW_FILE_MODE, size: 0, mark: undefined };
    throw error;
  }
}
