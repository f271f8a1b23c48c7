import { accessSync } from 'node:fs';
import { access, chmod, constants, stat } from 'node:fs/promises';
import { GatehouseError } from '../core/errors.ts';
import { denied, deniedError } from '../lib/denied.ts';
import { isDiskFull, isErrno } from '../lib/errno.ts';
import { makePath } from '../lib/make-path.ts';

const OTHERS_WRITE = 0o002;

/**
 * Creates the directory (owner only) when it is absent. Rejects with GH1202 when files cannot be made in it
 * (F16).
 */
export async function ensureDataDir(dir: string): Promise<void> {
  try {
    await makePath(dir, { mode: 0o700 });
    // Only a directory has a `.`: an executable file would pass otherwise.
    await access(`${dir}/.`, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw dataDirError(dir, error);
  }
}

/**
 * Takes from other users the right to write in the directory, and tells `warn` so: one of them could put a
 * journal of theirs in the place of ours, or a config. Rejects with GH1202 where the directory is another
 * user's, because that one can give the right back.
 */
export async function closeToOthers(dir: string, warn: (detail: string) => void): Promise<void> {
  const { mode, uid } = await stat(dir);
  // Windows has no such bits: everything is open to all by them.
  if ((mode & OTHERS_WRITE) === 0 || process.platform === 'win32') return;
  if (uid !== process.getuid?.()) {
    throw new GatehouseError('GH1202', `${dir} is another user's, and every user of this machine may write in it`, {
      hint: 'name a directory of your own with `--data-dir`, for example a new one below it',
    });
  }
  await chmod(dir, mode & 0o7777 & ~OTHERS_WRITE);
  warn(`every user of this machine could write in ${dir}; now only its owner and group can`);
}

/** One clear line for whatever the file system said about the directory or a file in it. */
export function dataDirError(path: string, error: unknown): GatehouseError {
  if (error instanceof GatehouseError) return error;
  const kept = deniedError(error);
  if (kept) return kept;
  const reason = isErrno(error, 'EROFS')
    ? 'the file system is read-only'
    : isErrno(error, 'EACCES', 'EPERM')
      ? 'permission denied'
      : isErrno(error, 'ENOTDIR', 'EEXIST')
        ? 'a part of the path is a file'
        : isDiskFull(error)
          ? 'no space left on the device'
          : error instanceof Error
            ? error.message
            : String(error);
  return new GatehouseError('GH1202', `${path} cannot be written: ${reason}`, { ...wayOut(error), cause: error });
}

/** Where the usual hint, to look at owner and mode, would lead astray. */
function wayOut(error: unknown): { readonly hint?: string } {
  if (isDiskFull(error)) return { hint: 'free some space there, or name another `--data-dir`' };
  if (isErrno(error, 'EROFS')) return { hint: 'mount it so that it can be written, or name another `--data-dir`' };
  return isErrno(error, 'ENOTDIR', 'EEXIST') ? { hint: 'name a directory with `--data-dir`' } : {};
}

/** Of a database that SQLite could not open: it does not say which of the three files it may not use. */
export function unwritableError(path: string, cause: unknown): GatehouseError {
  const found = [path, `${path}-wal`, `${path}-shm`].find((each) => {
    try {
      accessSync(each, constants.R_OK | constants.W_OK);
      return false;
    } catch (error) {
      return isErrno(error, 'EACCES', 'EPERM');
    }
  });
  return found === undefined ? new GatehouseError('GH1202', `${path} cannot be written`, { cause }) : denied(found, cause);
}
