import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { MediaKind, OutboundFile } from '../core/message.ts';
import { syncDirectory } from '../lib/atomic-file.ts';
import { mimeOf } from './media-types.ts';

/** How old copies are at least that are removed: a turn names its own in the journal long before. */
const KEEP_MS = 7 * 24 * 3_600_000;

/**
 * What a file is sent as (spec I2 telegram row, I3). A GIF as a photo would stand still; unknown = a
 * document.
 */
function kindOf(mime: string): MediaKind {
  if (/^image\/(?:jpeg|png|webp)$/.test(mime)) return 'photo';
  if (mime === 'audio/ogg') return 'voice';
  if (mime.startsWith('audio/')) return 'audio';
  return mime.startsWith('video/') ? 'video' : 'document';
}

/**
 * Takes a private copy of a file that an answer will carry, so that what is sent is what the tool chose,
 * whatever happens to the workspace until the platform takes it. The copy and its name are on disk when it
 * resolves: the journal may name them then. Rejects with GH1504 above `maxBytes`, else with the system's
 * error; no copy is left then.
 */
export async function copyAttachment(dir: string, file: { path: string; name: string }, maxBytes: number): Promise<OutboundFile> {
  const { size } = await stat(file.path);
  if (size > maxBytes) throw tooLarge(file.name, size, maxBytes);
  const made = await mkdir(dir, { recursive: true, mode: 0o700 });
  if (made !== undefined) await syncDirectory(dirname(made));
  const extension = extname(file.name).toLowerCase();
  const path = join(dir, `${randomUUID()}${/^\.[a-z0-9]{1,8}$/.test(extension) ? extension : ''}`);
  try {
    await copyFile(file.path, path, constants.COPYFILE_EXCL);
    // Of the copy: the file may have grown since it was looked at.
    const bytes = await syncedSize(path);
    if (bytes > maxBytes) throw tooLarge(file.name, bytes, maxBytes);
    await syncDirectory(dir);
    const mime = mimeOf(extension) ?? 'application/octet-stream';
    return { path, name: basename(file.name), mime, kind: kindOf(mime), bytes };
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** The size of a file that is on disk, whole, when it resolves. */
async function syncedSize(path: string): Promise<number> {
  // Windows syncs only what is open for writing; elsewhere the copy may be read-only, as the file was.
  await using file = await open(path, process.platform === 'win32' ? 'r+' : 'r');
  await file.sync();
  return (await file.stat()).size;
}

function tooLarge(name: string, bytes: number, maxBytes: number): GatehouseError {
  return new GatehouseError('GH1504', `${name} has ${bytes} bytes; at most ${maxBytes} can be sent`);
}

/**
 * Removes old copies but those that `inUse` names: an answer may wait for a person or a topic for longer than
 * any number of days. Called at start; failures leave files for the next start. `inUse` is asked only where
 * there are old ones.
 */
export async function pruneAttachments(dir: string, now: number, inUse: () => Promise<ReadonlySet<string>>): Promise<void> {
  const old: string[] = [];
  for (const name of await readdir(dir).catch(() => [])) {
    const { mtimeMs } = await stat(join(dir, name));
    if (now - mtimeMs > KEEP_MS) old.push(name);
  }
  if (old.length === 0) return;
  const needed = await inUse();
  for (const name of old) if (!needed.has(name)) await rm(join(dir, name), { force: true });
}
