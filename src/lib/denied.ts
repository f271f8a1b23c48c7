import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import { isErrno } from './errno.ts';

/**
 * GH1202 that says what the system keeps from this user, and who owns it. Undefined = the error is of another
 * kind, or names no path.
 */
export function deniedError(error: unknown): GatehouseError | undefined {
  if (!isErrno(error, 'EACCES', 'EPERM') || !(error instanceof Error)) return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : undefined;
  return path === undefined ? undefined : denied(path, error);
}

/** The same for a path of which it is known. */
export function denied(asked: string, cause?: unknown): GatehouseError {
  // Only a directory has a `.`: see `ensureDataDir`.
  const path = asked.replace(/\/\.$/, '');
  const { at, uid, real = at, behindLink } = nearest(path);
  const own = process.getuid?.();
  const isOwn = uid === undefined || uid === own;
  const whose = isOwn ? '' : ` (${at === path ? 'it' : at} belongs to user ${uid})`;
  // What lies behind a link may be shared: systemd has the directories of all its units in one.
  const give = behindLink ? '' : `; or, while no daemon runs, give it to this one: \`sudo chown -R ${own} ${real}\``;
  const hint = isOwn
    ? `see its mode with \`ls -ld ${at}\`, and give it back with \`chmod u+rwX\``
    : `run this as that user, such as with \`sudo -u '#${uid}'\`${give}`;
  return new GatehouseError('GH1202', `this user may not use ${path}${whose}`, { hint, cause });
}

/** Links that lead to each other are not gone after for ever. */
const MOST_LINKS = 8;

interface Nearest {
  readonly at: string;
  readonly uid?: number;
  /** The same without links: of one `chown -R` changes the link alone. */
  readonly real?: string;
  /** A link on the way leads there. */
  readonly behindLink?: boolean;
}

/** The path, or the first directory on the way to it that may be looked at. */
function nearest(path: string, links = MOST_LINKS): Nearest {
  for (let at = path; ; at = dirname(at)) {
    try {
      return { at, uid: statSync(at).uid, real: realpathSync(at) };
    } catch {
      const target = links > 0 ? linkTarget(at) : undefined;
      if (target !== undefined) return { ...nearest(target, links - 1), behindLink: true };
      if (dirname(at) === at) return { at };
    }
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    return undefined;
  }
}
