import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { errorText, GatehouseError } from '../core/errors.ts';
import type { Database } from './database.ts';
import { SyncPace } from './sync-pace.ts';

const FILE: Disk = { datasync: promisify(fdatasync), datasyncNow: fdatasyncSync };

/** How a descriptor is synced. */
export interface Disk {
  /** Beside the event loop. */
  datasync(descriptor: number): Promise<void>;
  /** In the event loop, where the disk is quick. Absent: never. */
  datasyncNow?(descriptor: number): void;
}

/**
 * While one sync is under way a second may begin, for commits that came after the first began. More would
 * only queue at the disk.
 */
const AT_ONCE = 2;

/**
 * Writes that one sync in the event loop may stand for. Where more come together others are on their way, and
 * the loop has better things to do than to wait.
 */
const FEW_WRITES = 2;

/** Commits that share one sync. */
interface Group extends PromiseWithResolvers<void> {
  writes: number;
}

interface Flight {
  readonly group: Group;
  readonly descriptor: number;
  hasEnded: boolean;
}

/**
 * Syncs the write-ahead log of one connection in place of SQLite, which would do it inside COMMIT and hold up
 * everything else for as long as the disk takes: beside the event loop, except on a disk that is quick.
 *
 * With `synchronous = NORMAL` SQLite leaves out exactly one sync: that of the log at the end of a
 * transaction. It still syncs a log that is new or begins again (its header, and the directory that names
 * it), and at a checkpoint the log before the database and the database before the log may be written over
 * (sqlite.org/pragma.html#pragma_synchronous). So a commit is on disk once a sync of the log that began after
 * it succeeded, wherever a checkpoint has carried it meanwhile.
 *
 * The log that is synced is the one that was committed to: a connection opens it once, and no process can
 * remove it while this connection holds its lock on the database. Closing a descriptor of the log frees no
 * lock; those are on the other two files.
 */
export class WalSync {
  readonly #path: string;
  readonly #disk: Disk;
  readonly #pace = new SyncPace();
  /**
   * One for each sync that may be under way. The kernel tells of pages that it could not write once per
   * descriptor: of two syncs on the same one, the second would succeed although what it stands for is lost.
   */
  readonly #descriptors: readonly number[];
  readonly #free: number[];
  /** In the order in which they began, which is the order of their commits. */
  readonly #flights: Flight[] = [];
  readonly #running = new Set<Promise<void>>();
  /** Commits that no sync covers yet. */
  #next: Group | undefined;
  #newest: Promise<void> | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #failure: GatehouseError | undefined;

  /**
   * Takes over from SQLite what it would do at COMMIT. The connection is in WAL mode, has read once, and is
   * closed after this. What an earlier process has committed and was killed before it synced is on disk when
   * this returns.
   */
  constructor(db: Database, disk: Disk = FILE) {
    this.#disk = disk;
    this.#path = db.walPath;
    // Windows syncs only what is open for writing.
    this.#descriptors = Array.from({ length: AT_ONCE }, () => openSync(this.#path, 'r+'));
    this.#free = [...this.#descriptors];
    for (const descriptor of this.#descriptors) fdatasyncSync(descriptor);
    db.exec('PRAGMA synchronous = NORMAL');
  }

  /** What every later call rejects with. */
  get failure(): GatehouseError | undefined {
    return this.#failure;
  }

  /** As `SyncPace.typicalMs`. */
  get typicalMs(): number | undefined {
    return this.#pace.typicalMs;
  }

  /** Resolves once everything that is committed is on disk; undefined when it is already. */
  get pending(): Promise<void> | undefined {
    return this.#newest;
  }

  /** Resolves when another sync may begin, or none will any more; undefined when that is so now. */
  get room(): Promise<void> | undefined {
    if (this.#failure || this.#free.length > 0) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /**
   * Call it after a COMMIT. Resolves once that is on disk, never before an earlier one. Rejects with GH1302,
   * then for good. With `isFollowed` the sync waits for the next commit, or for `begin`, so that both share
   * it. `writes`: of the transaction.
   */
  committed(isFollowed = false, writes = 1): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    const isLate = this.#next !== undefined;
    this.#next ??= { ...Promise.withResolvers<void>(), writes: 0 };
    this.#next.writes += writes;
    const { promise } = this.#next;
    this.#newest = promise;
    // Waits for one commit only; else a chain of commits would put the sync off for ever.
    if (!isFollowed || isLate) this.begin();
    return promise;
  }

  /** Syncs what is committed, and waits for it. Nothing may be committed any more. */
  async close(): Promise<void> {
    this.begin();
    while (this.#running.size > 0) await Promise.all(this.#running);
    for (const descriptor of this.#descriptors) closeSync(descriptor);
  }

  /**
   * Begins the sync of what no sync covers yet, unless enough are under way: then the first that ends does.
   */
  begin(): void {
    const group = this.#next;
    const descriptor = group && this.#free.pop();
    if (!group || descriptor === undefined) return;
    this.#next = undefined;
    const flight: Flight = { group, descriptor, hasEnded: false };
    this.#flights.push(flight);
    const isQuick = this.#disk.datasyncNow !== undefined && this.#pace.isQuick;
    if (isQuick && group.writes <= FEW_WRITES && this.#running.size === 0) {
      this.#syncNow(flight);
      return;
    }
    const running = this.#run(flight).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #run(flight: Flight): Promise<void> {
    const beganAt = performance.now();
    try {
      await this.#disk.datasync(flight.descriptor);
    } catch (error) {
      this.#fail(error);
      return;
    }
    const ms = performance.now() - beganAt;
    if (this.#pace.isQuick && flight.group.writes > FEW_WRITES) this.#pace.underLoad(ms);
    else this.#pace.besideLoop(ms);
    this.#ended(flight);
  }

  #syncNow(flight: Flight): void {
    const beganAt = performance.now();
    try {
      this.#disk.datasyncNow?.(flight.descriptor);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#pace.inLoop(performance.now() - beganAt);
    this.#ended(flight);
  }

  #ended(flight: Flight): void {
    if (this.#failure) return;
    flight.hasEnded = true;
    this.#free.push(flight.descriptor);
    while (this.#flights[0]?.hasEnded) this.#settle(this.#flights.shift());
    this.begin();
    if (this.#free.length > 0) this.#giveRoom();
  }

  #giveRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #settle(flight: Flight | undefined): void {
    if (this.#newest === flight?.group.promise) this.#newest = undefined;
    flight?.group.resolve();
  }

  /**
   * The kernel may have thrown the pages away and report success the next time (F15): no sync is tried again,
   * and a later one that succeeds meanwhile counts for nothing.
   */
  #fail(error: unknown): void {
    this.#failure ??= new GatehouseError(
      'GH1302',
      `the journal can no longer be trusted: ${this.#path} could not be synced: ${errorText(error)}`,
      { cause: error },
    );
    for (const { group } of this.#flights.splice(0)) group.reject(this.#failure);
    this.#next?.reject(this.#failure);
    this.#next = undefined;
    this.#giveRoom();
  }
}
