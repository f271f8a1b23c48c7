import { stat } from 'node:fs/promises';

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

/**
 * The name that a file is sent under: without what would end a header or make a path of it, at most 120
 * characters. `unsafe` is what is replaced. A name with nothing left is `file`.
 */
export function uploadName(name: string, unsafe = /[\p{Cc}";\\/]+/gu): string {
  return name.replace(unsafe, '_').slice(-120) || 'file';
}
