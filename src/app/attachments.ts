import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { MediaKind, OutboundFile } from '../core/message.ts';

/** Copies that no part can still need are removed after this: longer than any answer lives. */
const KEEP_MS = 7 * 24 * 3_600_000;

/** What a file is sent as, by extension (spec I2 telegram row, I3). Unknown = a document. */
const KINDS: Readonly<Record<string, { readonly kind: MediaKind; readonly mime: string }>> = {
  '.jpg': { kind: 'photo', mime: 'image/jpeg' },
  '.jpeg': { kind: 'photo', mime: 'image/jpeg' },
  '.png': { kind: 'photo', mime: 'image/png' },
  '.gif': { kind: 'document', mime: 'image/gif' },
  '.webp': { kind: 'photo', mime: 'image/webp' },
  '.ogg': { kind: 'voice', mime: 'audio/ogg' },
  '.oga': { kind: 'voice', mime: 'audio/ogg' },
  '.mp3': { kind: 'audio', mime: 'audio/mpeg' },
  '.m4a': { kind: 'audio', mime: 'audio/mp4' },
  '.wav': { kind: 'audio', mime: 'audio/wav' },
  '.mp4': { kind: 'video', mime: 'video/mp4' },
  '.pdf': { kind: 'document', mime: 'application/pdf' },
  '.txt': { kind: 'document', mime: 'text/plain' },
  '.md': { kind: 'document', mime: 'text/markdown' },
  '.csv': { kind: 'document', mime: 'text/csv' },
  '.json': { kind: 'document', mime: 'application/json' },
};

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
  const { kind, mime } = KINDS[extension] ?? { kind: 'document', mime: 'application/octet-stream' };
  return { path, name: basename(file.name), mime, kind, bytes: size };
}

/** Removes copies that are too old for any part to need. Called at start; failures leave files for the next start. */
export async function pruneAttachments(dir: string, now: number): Promise<void> {
  const names = await readdir(dir).catch(() => []);
  for (const name of names) {
    const { mtimeMs } = await stat(join(dir, name));
    if (now - mtimeMs > KEEP_MS) await rm(join(dir, name), { force: true });
  }
}
