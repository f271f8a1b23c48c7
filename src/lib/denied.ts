import { statSync } from 'node:fs';
import { dirname } from 'node:path';
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
  const { at, uid } = nearest(path);
  const own = process.getuid?.();
  const isOwn = uid === undefined || uid === own;
  const whose = isOwn ? '' : ` (${at === path ? 'it' : at} belongs to user ${uid})`;
  const hint = isOwn
    ? `see its mode with \`ls -ld ${at}\`, and give it back with \`chmod u+rwX\``
    : `run this as that user, such as with \`sudo -u '#${uid}'\`; or, while no daemon runs, give it to this one: \`sudo chown -R ${own} ${at}\``;
  return new GatehouseError('GH1202', `this user may not use ${path}${whose}`, { hint, cause });
}

/** The path, or the first directory above it that may be looked at. */
function nearest(path: string): { readonly at: string; readonly uid?: number } {
  for (let at = path; ; at = dirname(at)) {
    try {
      return { at, uid: statSync(at).uid };
    } catch {
      if (dirname(at) === at) return { at };
    }
  }
}
