import { stat } from 'node:fs/promises';

/** Why a file cannot be sent; undefined when it can. Ask before the request leaves: afterwards nobody knows what the platform took. */
export async function unreadableFile(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? undefined : 'the attachment is not a file';
  } catch {
    return 'the attachment is not there any more';
  }
}

/**
 * What a form or a header can name a file by: no path, no line break, none of `unsafe`. At most 120
 * characters.
 */
export function uploadName(name: string, unsafe = /[\p{Cc}";\\/]+/gu): string {
  return name.replace(unsafe, '_').slice(-120) || 'file';
}
