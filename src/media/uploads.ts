// a workspace gets an upload -> a line in the file of that day -> housekeeping looks where something can be
// too old or too much
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Clock } from '../core/ports.ts';
import { isErrno } from '../lib/errno.ts';
import type { DiskQuota } from '../workspace/disk-quota.ts';
import type { UploadBook } from './fetch-file.ts';
import { KEEP_MS, MOST_BYTES, pruneAllUploads, pruneUploads } from './prune-uploads.ts';

const DAY_MS = 86_400_000;
/** Beside the files of the days: when every workspace was last looked at. */
const WALKED = 'walked';

export interface UploadsOptions {
  readonly dataDir: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly limits?: { readonly keepMs: number; readonly bytes: number };
  /** Closed with this: nothing is stored any more. */
  readonly disk: Pick<DiskQuota, 'claim' | 'measureAll' | typeof Symbol.dispose>;
}

/**
 * Remembers which workspaces got a file of a person, and on which day: one line a day and workspace, below
 * `upload-days/` of the data directory. Of a hundred thousand conversations housekeeping then looks at the
 * few in which a file can have grown too old, or that got one since. At the first start, and every 30 days
 * for what others put there, it looks at all of them.
 */
export class Uploads implements UploadBook, AsyncDisposable {
  readonly #options: Required<UploadsOptions>;
  readonly #dir: string;
  readonly #stop = new AbortController();
  #pruning: Promise<void> = Promise.resolve();
  #day = '';
  /** Of that day. */
  #noted = new Set<string>();
  /**
   * Got a file since housekeeping looked; undefined before it first did: an earlier process may have stored
   * some.
   */
  #touched: Set<string> | undefined;

  constructor(options: UploadsOptions) {
    this.#options = { limits: { keepMs: KEEP_MS, bytes: MOST_BYTES }, ...options };
    this.#dir = join(options.dataDir, 'upload-days');
  }

  readonly claim: UploadBook['claim'] = async (workspace, bytes, signal) => {
    const room = await this.#options.disk.claim(workspace, bytes, signal);
    try {
      // Before there is a file: after a crash, housekeeping looks for what is left of it.
      await this.note(workspace);
      return room;
    } catch (error) {
      room[Symbol.dispose]();
      throw error;
    }
  };

  async note(workspace: string): Promise<void> {
    const day = dayOf(this.#options.clock.now());
    const place = relative(this.#options.dataDir, workspace);
    this.#touched?.add(place);
    if (day !== this.#day) this.#noted = new Set();
    this.#day = day;
    if (this.#noted.has(place)) return;
    this.#noted.add(place);
    try {
      await this.#append(day, [place]);
    } catch (error) {
      this.#noted.delete(place);
      throw error;
    }
  }

  /**
   * Called by housekeeping. Removes what is from before the date `before`, epoch ms: the caller knows by how
   * much a clock that jumps may be ahead. Rejects with the first of the directories that could not be read,
   * when the others are done; between two of them once this is disposed.
   */
  prune(before = this.#options.clock.now() - this.#options.limits.keepMs): Promise<void> {
    const { signal } = this.#stop;
    // At once: files that come meanwhile wait for it.
    const measuring = this.#options.disk.measureAll(signal);
    this.#pruning = Promise.allSettled([this.#prune(before, signal), measuring]).then((results) => {
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    });
    return this.#pruning;
  }

  /** Waits for what is under way, which ends soon. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('housekeeping ends'));
    this.#options.disk[Symbol.dispose]();
    await this.#pruning.catch(() => undefined);
  }

  async #prune(before: number, signal: AbortSignal): Promise<void> {
    const { dataDir, limits } = this.#options;
    const now = before + limits.keepMs;
    signal.throwIfAborted();
    if (now - (await this.#walkedAt()) > limits.keepMs) {
      this.#touched = new Set();
      const kept = await pruneAllUploads(dataDir, now, limits, signal);
      for (const [day, places] of Map.groupBy(kept, ({ mtimeMs }) => dayOf(mtimeMs)))
        await this.#append(day, new Set(places.map(({ workspace }) => relative(dataDir, workspace))));
      await mkdir(this.#dir, { recursive: true, mode: 0o700 });
      await writeFile(join(this.#dir, WALKED), new Date(now).toISOString(), { mode: 0o600 });
      return;
    }
    const days = (await readdir(this.#dir)).filter((name) => name !== WALKED);
    const due = days.filter((day) => Date.parse(day) + DAY_MS + limits.keepMs < now);
    // An earlier process of the day may have stored files since it last looked.
    const recent = this.#touched ? [] : days.filter((day) => Date.parse(day) + 2 * DAY_MS > now);
    const places = new Set(this.#touched);
    this.#touched = new Set();
    for (const day of new Set([...due, ...recent])) for (const place of await this.#placesOf(day)) places.add(place);
    await pruneUploads(
      [...places].map((place) => join(dataDir, place)),
      now,
      limits,
      signal,
    );
    for (const day of due) await rm(join(this.#dir, day), { force: true });
  }

  /** Epoch ms; 0 = never. */
  async #walkedAt(): Promise<number> {
    try {
      return Date.parse(await readFile(join(this.#dir, WALKED), 'utf8')) || 0;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return 0;
      throw error;
    }
  }

  async #placesOf(day: string): Promise<readonly string[]> {
    const text = await readFile(join(this.#dir, day), 'utf8');
    // The last line may have been cut off by a crash; another look finds what it was about.
    return text
      .split('\n')
      .map((place) => place.replace(/^users\/([^/]+)\/workspaces\//, 'workspaces/$1/')) // of earlier versions
      .filter((place) => /^workspaces\/[^/]+\/[^/]+$/.test(place) && !place.includes('..'));
  }

  async #append(day: string, places: Iterable<string>): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    await appendFile(join(this.#dir, day), [...places].map((place) => `${place}\n`).join(''), { mode: 0o600 });
  }
}

/** In UTC: the name of its file says when its time is over. */
function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
