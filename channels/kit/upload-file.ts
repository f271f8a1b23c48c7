import { stat } from 'node:fs/promises';
import type { SendResult } from '../../src/core/channel.ts';
import { errnoOrText } from '../../src/lib/errno.ts';
import { unreadFileResult } from '../../src/lib/unread-file.ts';

/**
 * Why a file cannot be sent; undefined when it can. Ask before the request leaves: after it, what the
 * platform took is unknown.
 */
export async function unreadableFile(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? undefined : 'the attachment is not a file';
  } catch {
    return 'the attachment is not there any more';
  }
}

/** What becomes of a part whose file could not be read before anything left. */
export function unreadResult(error: unknown): SendResult {
  return unreadFileResult(errnoOrText(error), 'the attachment');
}

/**
 * The name that a file is sent under: without what would end a header or make a path of it, at most 120
 * characters. `unsafe` is what is replaced. A name with nothing left is `file`.
 */
export function uploadName(name: string, unsafe = /[\p{Cc}";\\/]+/gu): string {
  return name.replace(unsafe, '_').slice(-120) || 'file';
}
