import { type FileHandle, open, rm } from 'node:fs/promises';
import { NoCopy, ofSource, ofTarget } from './no-copy.ts';

const CHUNK_BYTES = 1024 * 1024;
const EMPTY = Buffer.alloc(CHUNK_BYTES);
/** Up to this size, zeros are read: some seconds. */
const LARGE_BYTES = 2 ** 30;

/**
 * Copies an open file to a new one, as far as it went at the beginning, with permissions and times. What is
 * zero takes no room in the copy where its disk knows holes. Resolves with its size. Rejects with `NoCopy`,
 * or with the system's error where the copy cannot be written; no part of a copy is left.
 */
export async function copyFile(from: FileHandle, target: Buffer, stop: AbortSignal | undefined): Promise<number> {
  const about = await ofSource(() => from.stat());
  if (!about.isFile()) throw new NoCopy('no file');
  if (about.size > LARGE_BYTES && about.blocks * 512 < about.size / 1_000)
    throw new NoCopy(`${Math.round(about.size / 1e9)} GB by its size, and almost empty`);
  const mode = about.mode & 0o777;
  await using to = await ofTarget(() => open(target, 'wx', mode));
  try {
    const bytes = await ofTarget(() => copyBytes(from, to, about.size, stop));
    await to.chmod(mode);
    await to.utimes(about.atime, about.mtime);
    await to.sync();
    return bytes;
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  }
}

async function copyBytes(from: FileHandle, to: FileHandle, size: number, stop: AbortSignal | undefined): Promise<number> {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(size, 1)));
  let at = 0;
  while (at < size) {
    stop?.throwIfAborted();
    const { bytesRead } = await ofSource(() => from.read(chunk, 0, Math.min(chunk.length, size - at), at));
    if (bytesRead === 0) break;
    const part = chunk.subarray(0, bytesRead);
    if (!part.equals(EMPTY.subarray(0, bytesRead))) await writeAll(to, part, at);
    at += bytesRead;
  }
  // The end may be a hole.
  await to.truncate(at);
  return at;
}

async function writeAll(to: FileHandle, part: Buffer, position: number): Promise<void> {
  for (let done = 0; done < part.length; ) {
    const { bytesWritten } = await to.write(part, done, part.length - done, position + done);
    done += bytesWritten;
  }
}
