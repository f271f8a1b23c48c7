import { stat } from 'node:fs/promises';
import type { SendResult } from '../../src/core/channel.ts';
import { errnoOrText, isErrno } from '../../src/lib/errno.ts';

const GONE = 'the attachment is not there any more';

/**
 * Why a file cannot be sent; undefined when it can. Ask before the request leaves: after it, what the
 * platform took is unknown.
 */
export async function unreadableFile(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? undefined : 'the attachment is not a file';
  } catch {
    return GONE;
  }
}

/**
 * What becomes of a part whose file could not be read before anything left: refused when the file is gone,
 * else sent later.
 */
export function unreadResult(error: unknown): SendResult {
  if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) return { kind: 'refused', reason: 'invalid', detail: GONE };
  return { kind: 'retry', reason: `the attachment cannot be read (${errnoOrText(error)})`, scope: 'part' };
}

/**
 * The name that a file is sent under: without what would end a header or make a path of it, at most 120
 * characters. `unsafe` is what is replaced. A name with nothing left is `file`.
 */
export function uploadName(name: string, unsafe = /[\p{Cc}";\\/]+/gu): string {
  return name.replace(unsafe, '_').slice(-120) || 'file';
}
