// bytes that a file needs -> room on the disk, of the person, of all -> counted, or GH1508
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { ClaimDisk, Clock } from '../core/ports.ts';
import { settledOrAborted } from '../lib/time-limit.ts';
import { Room } from './disk-room.ts';
import { bytesBelow, ENTRY_BYTES, entriesOf } from './tree-size.ts';

const MIB = 1024 ** 2;
/** What a person has is looked at again after this: tools and housekeeping remove files meanwhile. */
const MEASURED_FOR_MS = 60_000;
/** All workspaces are walked once in this time, by housekeeping. */
const ALL_MEASURED_FOR_MS = 24 * 3_600_000;
/** Before a file is refused because of the total they are walked again, at most this often. */
const RECOUNTED_AFTER_MS = 600_000;
/** A first walk that failed is tried again after this. */
const TRIED_AGAIN_AFTER_MS = 60_000;
/** What programs write is not claimed: less than this is not looked at. Bytes. */
const UNSEEN_BYTES = 16 * MIB;
const UNSEEN_ENTRIES = UNSEEN_BYTES / ENTRY_BYTES;
/** Of the entries that a disk has room for: a small one has few. */
const KEPT_SHARE = 0.05;
/** People that are remembered. */
const MOST_PEOPLE = 1_000;

/** Section `disk` of the config. */
export interface DiskLimits {
  readonly person_mb: number;
  readonly total_mb: number;
  readonly reserve_mb: number;
}

export interface DiskQuotaOptions {
  readonly dataDir: string;
  /** Asked at each use. */
  readonly limits: () => DiskLimits;
  readonly clock: Pick<Clock, 'now'>;
  /** Bytes that are free for this user on the disk of a directory. Default: `statfs`. */
  readonly free?: (directory: string) => Promise<number>;
  /** Files and directories that it has, and has room for. Default: `statfs`. */
  readonly entries?: (directory: string) => Promise<DiskEntries>;
}

export interface DiskEntries {
  readonly used: number;
  readonly free: number;
}

/** What there was when a program began, or was last found to have its room. */
export interface DiskBefore {
  /** Bytes that were free. */
  free: number;
  usedEntries: number;
  /** What files of the same person took up. Bytes. */
  bytes: number;
}

interface Measured {
  bytes: number;
  readonly at: number;
}

/**
 * What files in workspaces may take up on the disk: uploads of people, and what tools write. A full disk
 * would stop every channel, so a reserve is kept for the journal. What is being written counts as what was
 * claimed for it, and what was removed counts until it is looked at again: never less than there is.
 */
export class DiskQuota implements Disposable {
  readonly #options: Required<DiskQuotaOptions>;
  readonly #people = new Map<string, Measured>();
  /** Claimed for files that are being written, by the directory of a person. */
  readonly #claimed = new Map<string, number>();
  /** Of these, what is not written yet, so that the disk does not know of it. */
  #unwritten = 0;
  /** What lies in all workspaces. Absent until they were walked once: a claim waits for that. */
  #all: number | undefined;
  /** The walk under way, and what was stored since it began, which it may have missed. */
  #walk: { readonly done: Promise<void>; missed: number } | undefined;
  #walkedAt = Number.NEGATIVE_INFINITY;
  readonly #stop = new AbortController();

  constructor(options: DiskQuotaOptions) {
    this.#options = { free: freeBytes, entries: diskEntries, ...options };
  }

  /** Waits for the first walk of all workspaces after a start. */
  readonly claim: ClaimDisk = async (workspace, bytes, signal) => {
    const person = dirname(workspace);
    const room = new Room({
      reserve: (more) => this.#reserve(workspace, more, signal),
      count: (claimed, unwritten) => this.#count(person, claimed, unwritten),
      stored: (stored) => this.#stored(person, stored),
    });
    await room.claim(bytes);
    return room;
  };

  /**
   * Called by housekeeping, at the start and every hour: walks all workspaces once a day. Rejects with the
   * reason of the signal once it is aborted, and where a directory cannot be read.
   */
  async measureAll(signal: AbortSignal): Promise<void> {
    if (this.#all === undefined || this.#isDue(ALL_MEASURED_FOR_MS)) await this.#walkAll(signal);
  }

  /** What is free on the disk of the data directory, and what no file may take of it. MiB. */
  async room(): Promise<{ freeMb: number; reserveMb: number }> {
    const { dataDir, free, limits } = this.#options;
    return { freeMb: Math.floor((await free(dataDir)) / MIB), reserveMb: limits().reserve_mb };
  }

  /** For `overrun`: before a program begins that may write into a workspace, an absolute path. */
  async before(workspace: string): Promise<DiskBefore> {
    const free = await this.#options.free(workspace);
    const { used } = await this.#options.entries(workspace);
    return { free, usedEntries: used, bytes: (await this.#of(dirname(workspace))).bytes };
  }

  /**
   * Why a program that began then must write no more, undefined while it may go on: what it writes is not
   * claimed. While the disk is short every program that writes is ended, since one may hold files open that
   * have no name any more. Else its person's files are walked once the disk is fuller by as much as a limit
   * needs. `before` becomes what is found: what others wrote is not counted again.
   */
  async overrun(workspace: string, before: DiskBefore): Promise<GatehouseError | undefined> {
    const free = await this.#options.free(workspace);
    const entries = await this.#options.entries(workspace);
    // Not by those that are free: a file system that makes room for entries as it needs it has fewer with
    // each byte that is written.
    const takenEntries = entries.used - before.usedEntries;
    const taken = Math.max(before.free - free, takenEntries * ENTRY_BYTES);
    if (taken < UNSEEN_BYTES) return undefined;
    const { person_mb: person, total_mb: total, reserve_mb: reserve } = this.#options.limits();
    if (free < reserve * MIB) return overrunBy(`less than ${reserve} MB of the disk are free`);
    const keptEntries = Math.floor(Math.min((reserve * MIB) / ENTRY_BYTES, (entries.used + entries.free) * KEPT_SHARE));
    // A disk may have had room for fewer: one that makes no files does not take it.
    if (takenEntries >= UNSEEN_ENTRIES && entries.free < keptEntries)
      return overrunBy(`the disk has room for fewer than ${keptEntries} files`);
    if (before.bytes + taken <= person * MIB && this.#total() + taken <= total * MIB) return undefined;
    // What decides is counted, and no more: a program makes files faster than they are.
    const most = Math.max(before.bytes + UNSEEN_BYTES, Math.min(person, total) * MIB);
    const bytes = await this.#again(dirname(workspace), most);
    const grown = bytes - before.bytes;
    Object.assign(before, { free, usedEntries: entries.used, bytes });
    if (grown < UNSEEN_BYTES) return undefined;
    if (bytes > person * MIB) return overrunBy(`files of this chat may take up ${person} MB together`);
    if (this.#total() > total * MIB && this.#isDue(RECOUNTED_AFTER_MS)) await this.#walkAll(this.#stop.signal);
    return this.#total() > total * MIB ? overrunBy(`files of all chats may take up ${total} MB together`) : undefined;
  }

  /** After it: what it wrote counts, as far as it can be seen. */
  async after(workspace: string, before: DiskBefore): Promise<void> {
    const free = await this.#options.free(workspace);
    const { used } = await this.#options.entries(workspace);
    const isSeen = Math.abs(before.free - free) >= UNSEEN_BYTES || Math.abs(used - before.usedEntries) >= UNSEEN_ENTRIES;
    if (isSeen) await this.#again(dirname(workspace));
  }

  /** Ends a walk that is under way. */
  [Symbol.dispose](): void {
    this.#stop.abort(new Error('nothing is stored any more'));
  }

  /** Counts them as claimed and not written. */
  async #reserve(workspace: string, bytes: number, signal: AbortSignal): Promise<void> {
    const { limits, free } = this.#options;
    const workspaces = dirname(workspace);
    if (this.#all === undefined) await this.#firstWalk(signal);
    // What was removed since the last walk may be room enough.
    if (this.#total() + bytes > limits().total_mb * MIB && this.#isDue(RECOUNTED_AFTER_MS))
      await this.#walkAll(signal).catch(() => signal.throwIfAborted());
    const left = await free(workspace);
    const used = await this.#of(workspaces);
    // From here on at once: claims that come together must not each find the same room.
    const { person_mb: person, total_mb: total, reserve_mb: reserve } = limits();
    if (left - this.#unwritten - bytes < reserve * MIB) throw noRoom(`less than ${reserve} MB of the disk would be free`);
    if (used.bytes + (this.#claimed.get(workspaces) ?? 0) + bytes > person * MIB)
      throw noRoom(`files of this chat may take up ${person} MB together`);
    if (this.#total() + bytes > total * MIB) throw noRoom(`files of all chats may take up ${total} MB together`);
    this.#count(workspaces, bytes, bytes);
  }

  #total(): number {
    return [...this.#claimed.values()].reduce((sum, one) => sum + one, this.#all ?? 0);
  }

  #count(workspaces: string, claimed: number, unwritten: number): void {
    const now = (this.#claimed.get(workspaces) ?? 0) + claimed;
    if (now > 0) this.#claimed.set(workspaces, now);
    else this.#claimed.delete(workspaces);
    this.#unwritten += unwritten;
  }

  #stored(workspaces: string, bytes: number): void {
    const person = this.#people.get(workspaces);
    if (person) person.bytes += bytes;
    if (this.#all !== undefined) this.#all += bytes;
    if (this.#walk) this.#walk.missed += bytes;
  }

  /** Until then the total is not known, and there is no room: what a crash left may have filled the disk. */
  async #firstWalk(signal: AbortSignal): Promise<void> {
    if (!this.#walk && !this.#isDue(TRIED_AGAIN_AFTER_MS)) throw noRoom(UNCOUNTED);
    await settledOrAborted(this.#walkAll(signal), signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw noRoom(UNCOUNTED, error);
    });
  }

  #isDue(afterMs: number): boolean {
    return Math.abs(this.#options.clock.now() - this.#walkedAt) >= afterMs;
  }

  async #walkAll(signal: AbortSignal): Promise<void> {
    this.#walk ??= { done: this.#sumAll(), missed: 0 };
    await settledOrAborted(this.#walk.done, signal);
  }

  /** All who come meanwhile wait for the same one, so it does not end with one of them. */
  async #sumAll(): Promise<void> {
    const { dataDir, clock } = this.#options;
    const users = join(dataDir, 'workspaces');
    this.#walkedAt = clock.now();
    try {
      let bytes = 0;
      for await (const user of entriesOf(users)) bytes += await bytesBelow(join(users, user.name), { signal: this.#stop.signal });
      this.#all = bytes + (this.#walk?.missed ?? 0);
    } finally {
      this.#walk = undefined;
    }
  }

  async #again(workspaces: string, most?: number): Promise<number> {
    const known = this.#people.get(workspaces);
    if (known) this.#people.set(workspaces, { ...known, at: Number.NEGATIVE_INFINITY });
    return (await this.#of(workspaces, most)).bytes;
  }

  /** With `most`: as `bytesBelow`. What is beyond it is found at the next use, which looks again. */
  async #of(workspaces: string, most = Number.POSITIVE_INFINITY): Promise<Measured> {
    const now = this.#options.clock.now();
    const known = this.#people.get(workspaces);
    if (known && Math.abs(now - known.at) < MEASURED_FOR_MS) return known;
    const bytes = await bytesBelow(workspaces, { most });
    const measured = { bytes, at: bytes > most ? Number.NEGATIVE_INFINITY : now };
    // Another claim may have measured meanwhile, and counted its own bytes.
    const newer = this.#people.get(workspaces);
    if (newer && newer !== known) return newer;
    // What programs wrote and removed since; a walk of all that is under way finds it by itself.
    if (known && this.#all !== undefined && !this.#walk) this.#all = Math.max(0, this.#all + measured.bytes - known.bytes);
    this.#people.delete(workspaces);
    this.#people.set(workspaces, measured);
    for (const oldest of this.#people.keys()) {
      if (this.#people.size <= MOST_PEOPLE) break;
      this.#people.delete(oldest);
    }
    return measured;
  }
}

const UNCOUNTED = 'what files of all chats take up is not counted yet';

function noRoom(reason: string, cause?: unknown): GatehouseError {
  return new GatehouseError('GH1508', `there is no room for the file: ${reason}`, cause === undefined ? {} : { cause });
}

function overrunBy(reason: string): GatehouseError {
  return new GatehouseError('GH1508', `it was ended, because it filled the disk: ${reason}`);
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** Some file systems have no such limit, and say 0. */
async function diskEntries(directory: string): Promise<DiskEntries> {
  const { files, ffree } = await statfs(directory);
  return files === 0 ? { used: 0, free: Number.MAX_SAFE_INTEGER } : { used: files - ffree, free: ffree };
}
