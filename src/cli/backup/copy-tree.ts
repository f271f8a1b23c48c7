import type { BigIntStats } from 'node:fs';
import { lstat, mkdir, realpath, stat, symlink } from 'node:fs/promises';
import { isAbsolute, sep } from 'node:path';
import { copyFile } from './copy-file.ts';
import { NoCopy, ofSource, ofTarget, REPLACED } from './no-copy.ts';
import { type Entry, isSame, isStill, isWithin, joined, openSource, readDirectory, type SourceOptions } from './source.ts';

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
   * Copies what is a database in use, instead of its bytes, and resolves with the size of the copy. Rejects
   * with `NoCopy` where it has none. Undefined = it is no database.
   */
  readonly database: (path: string, source: string) => Promise<number> | undefined;
  readonly stop?: AbortSignal;
}

/**
 * What the file beside it is emptied into: copied before that file, or looked for before it was copied, it
 * could lack lines which the other has lost by then.
 */
const LAST = /\.(archive|quarantine)\.jsonl$/;
const TOP = Buffer.alloc(0);

/**
 * Copies what lies below a directory in use onto the disk, files with permissions and times. One that grows
 * is copied up to where it was; one that goes meanwhile is left out. A link directly below `from` that leads
 * to a directory outside is followed, since an operator puts state on another disk by one. Any other is
 * copied as a link where it leads to something below `from` or below that directory, and left where it leads
 * elsewhere. What cannot be read is left.
 * Rejects with the system's error where the copy cannot be written, and with the reason of `stop`; what is
 * copied by then stays.
 */
export async function copyTree(options: CopyOptions): Promise<Copied> {
  const copied: Copied = { files: 0, bytes: 0, left: [] };
  const [from, to] = [Buffer.from(options.from), Buffer.from(options.to)];
  await mkdir(to, { recursive: true, mode: 0o700 });
  const draft = await stat(to, { bigint: true });
  const copy = { ...options, from, to, draft, copied };
  try {
    await copyDirectory(copy, { below: TOP, source: from, root: from });
  } catch (error) {
    if (!(error instanceof NoCopy)) throw error;
    copied.left.push(`. (${error.message})`);
  }
  return copied;
}

interface Copy extends Omit<CopyOptions, 'from' | 'to'> {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly draft: BigIntStats;
  readonly copied: Copied;
}

interface Place {
  /** Its path in the copy. */
  readonly below: Buffer;
  /** Without links on its way. */
  readonly source: Buffer;
  /** `from`, or the directory that a link at the top leads to. */
  readonly root: Buffer;
}

async function copyDirectory(copy: Copy, place: Place): Promise<void> {
  const { entries, about } = await readDirectory(place.source, copy);
  if (isSame(about, copy.draft)) return; // it would copy itself
  // Its owner may write to it, whatever it says of the original: what it holds comes after.
  const mode = (Number(about.mode) & 0o777) | 0o700;
  if (place.below.length > 0) await ofTarget(() => mkdir(joined(copy.to, place.below), { recursive: true, mode }));
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
    const { below, source, root } = place;
    const at = { below: joined(below, entry.name), source: joined(source, entry.name), root };
    try {
      if (await copy.takes(String(at.below))) await copyEntry(copy, at, entry);
    } catch (error) {
      if (!(error instanceof NoCopy)) throw error;
      if (error.reason === undefined) isMissing = true;
      else copy.copied.left.push(`${at.below} (${error.reason})`);
    }
  }
  // They may still be there, in a directory that goes by another name.
  if (isMissing && !(await isStill(place.source, about))) throw new NoCopy(REPLACED);
}

async function copyEntry(copy: Copy, place: Place, entry: Entry): Promise<void> {
  const { kind } = entry;
  if (kind === 'directory') await copyDirectory(copy, place);
  else if (kind === 'link') await copyLink(copy, place, entry);
  else if (kind === 'file') await copyOne(copy, place);
  else if (kind === 'other') throw new NoCopy('no file');
}

async function copyLink(copy: Copy, place: Place, { name, leadsTo }: Entry): Promise<void> {
  if (leadsTo === undefined) throw new NoCopy(undefined);
  // Not by its name, which may have become something else.
  const directory = place.source.subarray(0, -name.length);
  const end = isAbsolute(String(leadsTo)) ? leadsTo : Buffer.concat([directory, leadsTo]);
  const target = await realpath(end, { encoding: 'buffer' }).catch(() => undefined);
  if (target && isFollowed(copy, place, target) && (await ofSource(() => lstat(target))).isDirectory()) {
    await copyDirectory(copy, { ...place, source: target, root: target });
    return;
  }
  const isOurs = target !== undefined && (isWithin(target, place.root) || isWithin(target, copy.from));
  if (!isOurs) throw new NoCopy(`a link to ${leadsTo}`);
  await ofTarget(() => symlink(leadsTo, joined(copy.to, place.below)));
}

/**
 * State on another disk. What lies in `from` is copied already, and what holds `from` would copy it once
 * more.
 */
function isFollowed({ from }: Copy, { below }: Place, target: Buffer): boolean {
  return !below.includes(sep) && !isWithin(target, from) && !isWithin(from, target);
}

async function copyOne(copy: Copy, { below, source }: Place): Promise<void> {
  const database = copy.database(String(below), String(source));
  if (database) {
    copy.copied.bytes += await database;
  } else {
    await using file = await openSource(source, 'file', copy);
    copy.copied.bytes += await copyFile(file, joined(copy.to, below), copy.stop);
  }
  copy.copied.files += 1;
}
