import { GatehouseError } from '../core/errors.ts';
import type { Database } from './database.ts';

export interface OutsideChangesOptions {
  readonly db: Database;
  readonly pollMs: number;
  /** Runs a read, and reports its failure. */
  readonly read: <T>(run: () => T) => Promise<T>;
  /** Before the listeners: bring what is kept in memory up to date. */
  readonly refresh: () => void;
}

/**
 * Notices commits of other connections. `PRAGMA data_version` changes when, and only when, someone else
 * changed the file (sqlite.org/pragma.html#pragma_data_version), so our own writes wake no listener.
 */
export class OutsideChanges implements Disposable {
  readonly #options: OutsideChangesOptions;
  readonly #listeners: (() => void)[] = [];
  #seen: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OutsideChangesOptions) {
    this.#options = options;
    this.#seen = this.#version();
  }

  listen(listener: () => void): void {
    this.#listeners.push(listener);
    // Real time on purpose: other processes do not follow an injected clock. Never keeps the process alive.
    this.#timer ??= setInterval(() => void this.poll(), this.#options.pollMs).unref();
  }

  /** Never rejects: a failed read has been judged by the queue, which tells the owner when it is fatal. */
  async poll(): Promise<void> {
    const isNews = await this.#options.read(() => this.#look()).catch(() => false);
    if (!isNews) return;
    for (const listener of this.#listeners) listener();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#listeners.length = 0;
  }

  /** Whether the file was changed. Where `refresh` fails, the next poll looks again. */
  #look(): boolean {
    const { db } = this.#options;
    // What is committed from now on would be gone with this process, and no one would know.
    if (db.isReplaced)
      throw new GatehouseError('GH1302', `${db.path} was replaced or removed while it was in use`, {
        hint: 'the next start uses the file that is there then; stop the daemon before you restore a backup (docs/backup.md)',
      });
    const version = this.#version();
    if (version === this.#seen) return false;
    this.#options.refresh();
    this.#seen = version;
    return true;
  }

  #version(): number {
    return this.#options.db.get<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0;
  }
}
