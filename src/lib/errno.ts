import { errorText } from '../core/errors.ts';

const READ_FAILED: Readonly<Record<string, string>> = {
  EISDIR: 'it is a directory',
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of its path is no directory',
  EACCES: 'this user may not read it',
};

/** Why a file could not be read, for a sentence that names the file. */
export function readFailureText(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return Object.hasOwn(READ_FAILED, code) ? `${READ_FAILED[code]} (${code})` : errorText(error);
}

/** The code of an error of the platform, such as `EACCES`, whose words may hold a path; else its words. */
export function errnoOrText(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : errorText(error);
}

/** Whether an error of the platform has one of these codes, such as `ENOENT`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}

/** For the `catch` of `readdir`: no names where the directory is not there. Throws any other error. */
export function orNone(error: unknown): never[] {
  if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [];
  throw error;
}

/** From the file system, or in SQLite's words (SQLITE_FULL). */
export function isDiskFull(error: unknown): boolean {
  return isErrno(error, 'ENOSPC', 'EDQUOT') || (error instanceof Error && error.message.includes('disk is full'));
}

/**
 * Options of an error: its cause, and where the disk is full a hint in place of the usual one of its code.
 */
export function causeOf(error: unknown): { readonly cause: unknown; readonly hint?: string } {
  return isDiskFull(error) ? { cause: error, hint: 'free some space there' } : { cause: error };
}
