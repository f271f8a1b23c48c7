import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { syncDirectory } from '../lib/atomic-file.ts';

/** A path that a tool refuses; the text is for the model and names nothing outside its workspace. */
export class PathRefusal extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'PathRefusal';
  }
}

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
/** Look like a separator to people or become one in a later normalisation: ⁄ ∕ ⧸ ⧵ ⫽ ﹨ / \ */
const SEPARATOR_LOOKALIKES = /[\u2044\u2215\u29f5\u29f8\u29f9\u2afd\ufe68\uff0f\uff3c]/u;

/**
 * The names a model-given path walks through, relative to the workspace; `[]` = the workspace itself. Decodes
 * nothing: `%2e%2e` is a file of that name. Throws `PathRefusal`.
 */
export function splitWorkspacePath(path: string): readonly string[] {
  const shown = JSON.stringify(path.length > 100 ? `${path.slice(0, 100)}…` : path);
  const refuse = (reason: string) => new PathRefusal(`path ${shown} ${reason}`);
  if (path === '') throw refuse('is empty');
  if (hasControl(path)) throw refuse('contains control characters');
  if (Buffer.byteLength(path, 'utf8') > MAX_PATH_BYTES) throw refuse('is too long');
  if (path.includes('\\')) throw refuse('contains a backslash; separate names with /');
  if (SEPARATOR_LOOKALIKES.test(path)) throw refuse('contains a character that looks like a separator');
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) throw refuse('is absolute; use a path relative to the workspace');
  if (path.startsWith('~')) throw refuse('begins with ~, which stands for nothing here; use a path relative to the workspace');
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw refuse('leaves the workspace');
  if (names.some((name) => Buffer.byteLength(name, 'utf8') > MAX_NAME_BYTES)) throw refuse('holds a name that is too long');
  return names;
}

function hasControl(text: string): boolean {
  return [...text].some((char) => char < ' ' || char === '\u007f');
}

export interface WalkOptions {
  /** Make missing directories on the way. Default false. */
  readonly create?: boolean;
  /** Reach children through `/proc/self/fd`. Default: where the system has it. */
  readonly procFd?: boolean;
}

/**
 * One directory of the workspace, held open. Operations on `child(name)` happen in that very directory, even
 * when a name on the way is swapped for a symbolic link meanwhile (attack A21): on Linux the path leads
 * through the open descriptor.
 */
export class WorkspaceDirectory implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #path: string;
  /** Real path of the workspace where paths prove containment; undefined where the descriptor proves it. */
  readonly #root: string | undefined;

  private constructor(handle: FileHandle, path: string, root: string | undefined) {
    this.#handle = handle;
    this.#path = path;
    this.#root = root;
  }

  /**
   * Opens `names` below `workspace` one by one, refusing a symbolic link at each. `workspace` itself is
   * trusted. Throws `PathRefusal`, also when a directory is missing. The caller disposes what it gets.
   */
  static async open(workspace: string, names: readonly string[], options: WalkOptions = {}): Promise<WorkspaceDirectory> {
    const procFd = options.procFd ?? (process.platform === 'linux' && existsSync('/proc/self/fd'));
    // Other systems compare real paths; the workspace's own may lead through links (/tmp on macOS).
    const path = procFd ? workspace : await realpath(workspace);
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    let current = new WorkspaceDirectory(handle, path, procFd ? undefined : path);
    for (const name of names) {
      try {
        const next = await current.#enter(name, options.create === true);
        await current[Symbol.asyncDispose]();
        current = next;
      } catch (error) {
        await current[Symbol.asyncDispose]();
        throw error;
      }
    }
    return current;
  }

  /** A path for one system call on the entry `name` (a single name). Valid until disposal. */
  child(name: string): string {
    return join(this.self, name);
  }

  /** A path for one system call on this directory itself. */
  get self(): string {
    return this.#root === undefined ? `/proc/self/fd/${this.#handle.fd}` : this.#path;
  }

  /**
   * Opens a directory in this one, refusing a symbolic link. Throws `PathRefusal`. The caller disposes what
   * it gets, and may dispose this one before.
   */
  async enter(name: string): Promise<WorkspaceDirectory> {
    return await this.#enter(name, false);
  }

  /** Opens a regular file for reading. Refuses all else: a FIFO would block, a device would act. */
  async openFile(name: string): Promise<FileHandle> {
    const shown = JSON.stringify(name);
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const file = await refusing(shown, () => open(this.child(name), flags));
    try {
      const info = await file.stat();
      if (info.isDirectory()) throw new PathRefusal(`${shown} is a directory`);
      if (!info.isFile()) throw new PathRefusal(`${shown} is not a regular file`);
      await this.#confirm(name, info);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  async #enter(name: string, create: boolean): Promise<WorkspaceDirectory> {
    const path = this.child(name);
    const shown = JSON.stringify(name);
    // What is stored below is lost with the name of its directory.
    if (create && (await makeDirectory(path))) await syncDirectory(this.self);
    // On Linux the combination fails with ENOTDIR for a link, elsewhere with ELOOP.
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    const handle = await refusing(shown, () => open(path, flags));
    try {
      await this.#confirm(name, await handle.stat());
      return new WorkspaceDirectory(handle, join(this.#path, name), this.#root);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Without descriptors: what was opened must be what the path names now, and lie in the workspace. */
  async #confirm(name: string, opened: { readonly dev: number; readonly ino: number }): Promise<void> {
    if (this.#root === undefined) return;
    const path = this.child(name);
    const present = await refusing(JSON.stringify(name), () => lstat(path));
    const isSame = present.dev === opened.dev && present.ino === opened.ino;
    const isInside = (await realpath(path)).startsWith(this.#root + sep);
    if (!isSame || !isInside) throw new PathRefusal(`${JSON.stringify(name)} changed meanwhile or leads out of the workspace`);
  }
}

/** True when it was not there before. */
async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    // Whatever is there already is judged when it is opened.
    if (errorCode(error) !== 'EEXIST') throw error;
    return false;
  }
}

const REFUSALS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a directory, or is a symbolic link, which tools do not follow',
  ELOOP: 'is a symbolic link, which tools do not follow',
  ENXIO: 'is not a regular file',
  EACCES: 'may not be accessed',
  ENAMETOOLONG: 'is too long a name',
};

/** Turns the system's expected refusals into ours, which show no path. */
async function refusing<T>(shown: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = REFUSALS[errorCode(error) ?? ''];
    throw reason === undefined ? error : new PathRefusal(`${shown} ${reason}`, { cause: error });
  }
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Opens the directory that holds the path's last name. Throws `PathRefusal` for the workspace itself. */
export async function openParent(
  workspace: string,
  path: string,
  options: WalkOptions = {},
): Promise<{ readonly parent: WorkspaceDirectory; readonly name: string }> {
  const names = splitWorkspacePath(path);
  const name = names.at(-1);
  if (name === undefined) throw new PathRefusal('the path names the workspace itself, which is a directory');
  // Through descriptors it could be made, and then nothing that walks by paths would reach it: no count of
  // files, no `rm`.
  if (options.create && Buffer.byteLength(join(workspace, ...names), 'utf8') > MAX_PATH_BYTES - 1)
    throw new PathRefusal('the path is too long in this workspace');
  return { parent: await WorkspaceDirectory.open(workspace, names.slice(0, -1), options), name };
}
