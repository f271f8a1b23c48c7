import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { GatehouseError } from '../src/core/errors.ts';
import { readFailureText } from '../src/lib/errno.ts';
import { hashOf, MAX_BYTES } from './load.ts';

/**
 * What lay at a path at one moment. Equal stamps mean that nothing was written or put in its place between.
 */
export type Snapshot = { readonly stamp: string; readonly hash: string } & (
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'unreadable'; readonly error: GatehouseError }
);

/**
 * Reads a config file that may be written, replaced or removed at the same time. Never rejects, never blocks
 * on a pipe, and never reads more than a config may have: the path may lead anywhere by now.
 */
export async function takeSnapshot(file: string): Promise<Snapshot> {
  try {
    await using opened = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = await opened.stat({ bigint: true });
    if (!before.isFile()) return unreadable('not a file', `${file} is not a regular file`);
    if (before.size > MAX_BYTES) return unreadable('too large', `${file} has more than ${MAX_BYTES} bytes`);
    const buffer = Buffer.alloc(Number(before.size) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = (await opened.read(buffer, length, buffer.length - length, length)).bytesRead;
    const bytes = buffer.subarray(0, length);
    const after = await opened.stat({ bigint: true });
    const stamp = [after.dev, after.ino, after.size, before.mtimeNs, after.mtimeNs, before.ctimeNs, after.ctimeNs].join();
    return { kind: 'read', bytes, hash: hashOf(bytes), stamp };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR';
    return unreadable(code, isAbsent ? `there is no file ${file}` : `${file} cannot be read: ${readFailureText(error)}`, error);
  }
}

function unreadable(why: string, message: string, cause?: unknown): Snapshot {
  const name = `unreadable: ${why}`;
  return { kind: 'unreadable', stamp: name, hash: name, error: new GatehouseError('GH1102', message, { cause }) };
}
