// bytes that a file needs -> room on the disk, of the person, of all -> counted, or GH1508
import { lstat, readdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { isErrno } from '../lib/errno.ts';

const MIB = 1024 ** 2;
/** What a person has is looked at again after this: tools and housekeeping remove files meanwhile. */
const MEASURED_FOR_MS = 60_000;
/** All workspaces are walked once in this time, by housekeeping. */
const ALL_MEASURED_FOR_MS = 24 * 3_600_000;
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
}

interface Measured {
  bytes: number;
  readonly at: number;
}

/**
 * What files in workspaces may take up on the disk: uploads of people, and what tools write. A full disk
 * would stop every channel, so a reserve is kept for the journal.
 */
export class DiskQuota {
  readonly #options: Required<DiskQuotaOptions>;
  readonly #people = new Map<string, Measured>();
  /** Undefined until housekeeping walked: the reserve and the limit of each person hold from the start. */
  #all: Measured | undefined;

  constructor(options: DiskQuotaOptions) {
    this.#options = { free: freeBytes, ...options };
  }

  /**
   * Called before a file of this workspace grows by so many bytes; 0 = it is not known by how many. Counts
   * them. Rejects with GH1508 when there is no room: its message is for the model, and names no path.
   */
  async claim(workspace: string, bytes: number): Promise<void> {
    const { limits, free } = this.#options;
    const { person_mb: person, total_mb: total, reserve_mb: reserve } = limits();
    if ((await free(workspace)) - bytes < reserve * MIB) throw noRoom(`less than ${reserve} MB of the disk would be free`);
    const used = await this.#of(dirname(workspace));
    // From here on at once: claims that come together must not each find the same room.
    if (used.bytes + bytes > person * MIB) throw noRoom(`files of this chat may take up ${person} MB together`);
    if (this.#all && this.#all.bytes + bytes > total * MIB) throw noRoom(`files of all chats may take up ${total} MB together`);
    used.bytes += bytes;
    if (this.#all) this.#all.bytes += bytes;
  }

  /** Called by housekeeping every hour. Rejects with the reason of the signal once it is aborted. */
  async measureAll(signal: AbortSignal): Promise<void> {
    const { dataDir, clock } = this.#options;
    if (this.#all && Math.abs(clock.now() - this.#all.at) < ALL_MEASURED_FOR_MS) return;
    const users = join(dataDir, 'users');
    let bytes = 0;
    for (const user of await entriesOf(users)) bytes += await bytesBelow(join(users, user.name, 'workspaces'), signal);
    this.#all = { bytes, at: clock.now() };
  }

  async #of(workspaces: string): Promise<Measured> {
    const now = this.#options.clock.now();
    const known = this.#people.get(workspaces);
    if (known && Math.abs(now - known.at) < MEASURED_FOR_MS) return known;
    const measured = { bytes: await bytesBelow(workspaces), at: now };
    // Another claim may have measured meanwhile, and counted its own bytes.
    const newer = this.#people.get(workspaces);
    if (newer && newer !== known) return newer;
    this.#people.delete(workspaces);
    this.#people.set(workspaces, measured);
    for (const oldest of this.#people.keys()) {
      if (this.#people.size <= MOST_PEOPLE) break;
      this.#people.delete(oldest);
    }
    return measured;
  }
}

function noRoom(reason: string): GatehouseError {
  return new GatehouseError('GH1508', `there is no room for the file: ${reason}`);
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** Sizes of all that lies there. Links are not followed. */
async function bytesBelow(directory: string, signal?: AbortSignal): Promise<number> {
  let bytes = 0;
  for (const entry of await entriesOf(directory)) {
    signal?.throwIfAborted();
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += await bytesBelow(path, signal);
    else bytes += await lstat(path).then(({ size }) => size, gone(0));
  }
  return bytes;
}

/** None where there is nothing any more: turns and housekeeping remove files meanwhile. */
async function entriesOf(directory: string) {
  return await readdir(directory, { withFileTypes: true }).catch(gone([]));
}

function gone<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return value;
    throw error;
  };
}
