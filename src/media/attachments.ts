import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { MediaKind, OutboundFile } from '../core/message.ts';
import { mimeOf } from './media-types.ts';

/** Copies that no part can still need are removed after this: longer than any answer lives. */
const KEEP_MS = 7 * 24 * 3_600_000;

/** What a file is sent as (spec I2 telegram row, I3). A GIF as a photo would stand still; unknown = a document. */
function kindOf(mime: string): MediaKind {
  if (/^image\/(?:jpeg|png|webp)$/.test(mime)) return 'photo';
  if (mime === 'audio/ogg') return 'voice';
  if (mime.startsWith('audio/')) return 'audio';
  return mime.startsWith('video/') ? 'video' : 'document';
}

/**
 * Takes a private copy of a file that an answer will carry, so that what is sent is what the tool chose, whatever happens to
 * the workspace until the platform takes it. Rejects with GH1504 above `maxBytes`.
 */
export async function copyAttachment(dir: string, file: { path: string; name: string }, maxBytes: number): Promise<OutboundFile> {
  const { size } = await stat(file.path);
  if (size > maxBytes) throw new GatehouseError('GH1504', `${file.name} has ${size} bytes; at most ${maxBytes} can be sent`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const extension = extname(file.name).toLowerCase();
  const path = join(dir, `${randomUUID()}${/^\.[a-z0-9]{1,8}$/.test(extension) ? extension : ''}`);
  await copyFile(file.path, path, constants.COPYFILE_EXCL);
  const mime = mimeOf(extension) ?? 'application/octet-stream';
  return { path, name: basename(file.name), mime, kind: kindOf(mime), bytes: size };
}

/** Removes copies that are too old for any part to need. Called at start; failures leave files for the next start. */
export async function pruneAttachments(dir: string, now: number): Promise<void> {
  const names = await readdir(dir).catch(() => []);
  for (const name of names) {
    const { mtimeMs } = await stat(join(dir, name));
    if (now - mtimeMs > KEEP_MS) await rm(join(dir, name), { force: true });
  }
}
