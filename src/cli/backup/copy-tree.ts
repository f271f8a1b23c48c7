import type { BigIntStats } from 'node:fs';
import { lstat, mkdir, realpath, symlink } from 'node:fs/promises';
import { copyFile } from './copy-file.ts';
import { NoCopy, ofTarget, REPLACED } from './no-copy.ts';
import { type Entry, isStill, isWithin, joined, openSource, readDirectory, type SourceOptions } from './source.ts';

export interface Copied {
  files: number;
  bytes: number;
  /** What has no copy, by its path below the source, each with the reason. */
  readonly left: string[];
}

export interface CopyOptions extends SourceOptions {
  /** Without links on its way. */
  readonly from: string;
  readonly to: string;
  /** Whether this is copied; asked with the path below `from`. */
  readonly takes: (path: string) => boolean | Promise<boolean>;
  /**
   * Copies what is a database in use, instead of its bytes, and resolves with the size of the copy. Undefined
   * = it is none.
   */
  readonly database: (path: string) => Promise<number> | undefined;
  readonly stop?: AbortSignal;
}

/**
 * What the file beside it is emptied into: copied before that file, or looked for before it was copied, it
 * could lack lines which the other has lost by then.
 */
const LAST = /\.(archive|quarantine)\.jsonl$/;
const TOP = Buffer.alloc(0);

/**
 * Copies what lies below a directory in use onto the disk, with permissions and times. A file that grows is
 * copied up to where it was; one that goes meanwhile is left out. A link directly below `from` that leads to
 * a directory is followed, since an operator puts state on another disk by one; any other is copied as a link
 * where it leads to something below `from`, and left where it leads elsewhere. What cannot be read is left.
 * Rejects with the system's error where the copy cannot be written, and with the reason of `stop`; what is
 * copied by then stays.
 */
export async function copyTree(options: CopyOptions): Promise<Copied> {
  const copied: Copied = { files: 0, bytes: 0, left: [] };
  const [from, to] = [Buffer.from(options.from), Buffer.from(options.to)];
  await copyDirectory({ ...options, from, to, copied }, { below: TOP, source: from });
  return copied;
}

interface Copy extends Omit<CopyOptions, 'from' | 'to'> {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly copied: Copied;
}

interface Place {
  /** Its path in the copy. */
  readonly below: Buffer;
  /** Without links on its way. */
  readonly source: Buffer;
}

async function copyDirectory(copy: Copy, place: Place): Promise<void> {
  const { entries, about } = await readDirectory(place.source, copy);
  const target = place.below.length === 0 ? copy.to : joined(copy.to, place.below);
  // Its owner may write to it, whatever it says of the original: what it holds comes after.
  const mode = (Number(about.mode) & 0o777) | 0o700;
  await ofTarget(() => mkdir(target, { recursive: true, mode }));
  await copyEntries(copy, place, about, entries.filter(isFirst));
  const again = await readDirectory(place.source, copy);
  await copyEntries(
    copy,
    place,
    about,
    again.entries.filter((entry) => !isFirst(entry)),
  );
}

function isFirst({ name }: Entry): boolean {
  return !LAST.test(String(name));
}

async function copyEntries(copy: Copy, place: Place, about: BigIntStats, entries: readonly Entry[]): Promise<void> {
  let isMissing = false;
  for (const entry of entries) {
    copy.stop?.throwIfAborted();
    const at = { below: joined(place.below, entry.name), source: joined(place.source, entry.name) };
    try {
      if (await copy.takes(String(at.below))) await copyEntry(copy, at, entry);
    } catch (error) {
      if (!(error instanceof NoCopy)) throw error;
      if (error.reason === undefined) isMissing = true;
      else leave(copy, at, error.reason);
    }
  }
  // They may still be there, in a directory that goes by another name.
  if (isMissing && !(await isStill(place.source, about))) throw new NoCopy(REPLACED);
}

function leave({ copied }: Copy, { below }: Place, reason: string): void {
  copied.left.push(`${below} (${reason})`);
}

async function copyEntry(copy: Copy, place: Place, { kind, leadsTo }: Entry): Promise<void> {
  if (kind === 'directory') await copyDirectory(copy, place);
  else if (kind === 'link') await copyLink(copy, place, leadsTo);
  else if (kind === 'file') await copyOne(copy, place);
  else if (kind === 'other') throw new NoCopy('no file');
}

async function copyLink(copy: Copy, place: Place, leadsTo: Buffer | undefined): Promise<void> {
  const target = await realpath(place.source, { encoding: 'buffer' }).catch(() => undefined);
  const isTop = place.source.equals(joined(copy.from, place.below)) && !String(place.below).includes('/');
  if (target && isTop && (await lstat(target)).isDirectory()) {
    await copyDirectory(copy, { ...place, source: target });
    return;
  }
  if (leadsTo === undefined) throw new NoCopy(undefined);
  if (!target || !isWithin(target, copy.from)) throw new NoCopy(`a link to ${leadsTo}`);
  await ofTarget(() => symlink(leadsTo, joined(copy.to, place.below)));
}

async function copyOne(copy: Copy, { below, source }: Place): Promise<void> {
  const database = copy.database(String(below));
  if (database) {
    copy.copied.bytes += await database;
  } else {
    await using file = await openSource(source, 'file', copy);
    copy.copied.bytes += await copyFile(file, joined(copy.to, below), copy.stop);
  }
  copy.copied.files += 1;
}
