import type { SendResult } from '../core/channel.ts';

const GONE = 'is not there any more';
const FORBIDDEN = 'may not be read by the user that the daemon runs as';
/** What stands against a file the next time as well. */
const LASTING: Readonly<Record<string, string>> = {
  ...{ ENOENT: GONE, ENOTDIR: GONE, EISDIR: 'is not a file', EACCES: FORBIDDEN, EPERM: FORBIDDEN },
  ELOOP: 'is a symbolic link that leads back to itself',
  ENAMETOOLONG: 'has a path that is too long',
  ERR_FS_FILE_TOO_LARGE: 'is too large to be read',
};

/**
 * What becomes of a part whose file could not be looked at or read before anything left: refused where that
 * will be so the next time, else sent later. `code`: of the error of the file system. `what` begins the
 * sentence, such as "the attachment".
 */
export function unreadFileResult(code: string, what: string): SendResult {
  const lasting = Object.hasOwn(LASTING, code) ? LASTING[code] : undefined;
  if (lasting !== undefined) return { kind: 'refused', reason: 'invalid', detail: `${what} ${lasting}` };
  return { kind: 'retry', reason: `${what} cannot be read now (${code})`, scope: 'part' };
}
