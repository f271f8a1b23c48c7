import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorText, GatehouseError } from '../../core/errors.ts';
import { writeFileAtomic } from '../atomic-file.ts';
import { deniedError } from '../denied.ts';
import { causeOf, isErrno } from '../errno.ts';
import { AUTH_FILE, type AuthDocument } from './credential.ts';

const MAX_BYTES = 1_000_000;

/**
 * `auth.json`: checked when it is read, written as one step. Reading again costs one `lstat` while the file
 * is the same. No error holds anything of the file: neither its text (JSON.parse quotes it) nor its keys.
 */
export class AuthFile {
  readonly path: string;
  #last: { readonly identity: string; readonly document: AuthDocument } | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** Undefined: there is no file. GH2202: it cannot be trusted or understood. GH1202: closed directory. */
  async read(): Promise<AuthDocument | undefined> {
    const identity = await this.#identity();
    if (identity === undefined) return undefined;
    if (this.#last?.identity === identity) return this.#last.document;
    const document = await this.#load();
    // Kept only when it was the same file throughout.
    this.#last = document && (await this.#identity()) === identity ? { identity, document } : undefined;
    return document;
  }

  /** Replaces the file: mode 0600, of the user of the directory. GH1202: it cannot be written. */
  async write(document: AuthDocument): Promise<void> {
    try {
      await writeFileAtomic(this.path, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600, ofDirectory: true });
    } catch (error) {
      throw this.unwritable(error);
    }
  }

  /** For the owner alone. */
  async makeDirectory(): Promise<void> {
    try {
      await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    } catch (error) {
      throw this.unwritable(error);
    }
  }

  unwritable(error: unknown): GatehouseError {
    return new GatehouseError('GH1202', `${this.path} cannot be written: ${errorText(error)}`, causeOf(error));
  }

  /** Changes with the content (a rename gives a new inode), the permissions and the kind of the file. */
  async #identity(): Promise<string | undefined> {
    try {
      const { dev, ino, size, mode, mtimeNs, ctimeNs } = await lstat(this.path, { bigint: true });
      return [dev, ino, size, mode, mtimeNs, ctimeNs].join(' ');
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
      throw deniedError(error) ?? this.#refuse(`cannot be read: ${errorText(error)}`, 'check the disk');
    }
  }

  async #load(): Promise<AuthDocument | undefined> {
    let file: FileHandle;
    try {
      // O_NONBLOCK: opening a named pipe would wait for its other end.
      file = await open(this.path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      if (isErrno(error, 'ELOOP', 'EMLINK')) {
        throw this.#refuse('is a symbolic link', 'put the file itself there, or remove the link and log in again');
      }
      throw this.#refuse(`cannot be read: ${errorText(error)}`, deniedError(error)?.hint ?? 'check the disk');
    }
    try {
      return this.#parse(await this.#text(file));
    } finally {
      await file.close();
    }
  }

  /** Checks the open file and not its name, so that it cannot be swapped in between. */
  async #text(file: FileHandle): Promise<string> {
    const stats = await file.stat();
    if (!stats.isFile()) throw this.#refuse('is not a regular file', 'remove it and log in again');
    // Windows has no such bits: its files inherit the rights of the profile directory.
    if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0)
      throw this.#refuse('can be read by other users of this machine', `run \`chmod 600 ${this.path}\``);
    if (stats.size > MAX_BYTES) throw this.#refuse('is too large to be a list of logins', 'remove it and log in again');
    return await file.readFile('utf8');
  }

  #parse(text: string): AuthDocument {
    const again = 'mend it, or remove it and log in again';
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw this.#refuse('is not valid JSON', again);
    }
    if (isObject(value) && typeof value['version'] === 'number' && value['version'] > 1) {
      throw this.#refuse('was written by a newer version', 'update gatehouse');
    }
    const parsed = AUTH_FILE.safeParse(value);
    if (parsed.success) return parsed.data;
    const field = parsed.error.issues[0]?.path.at(2);
    const known = typeof field === 'string' && Object.hasOwn(FIELDS, field) ? ` (${field} of one entry)` : '';
    throw this.#refuse(`does not have the expected shape${known}`, again);
  }

  #refuse(what: string, hint: string): GatehouseError {
    return new GatehouseError('GH2202', `${this.path} ${what}`, { hint });
  }
}

/** Names that may be shown: any other key of the file could itself be a secret in the wrong place. */
const FIELDS = AUTH_FILE.shape.credentials.valueType.shape;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
