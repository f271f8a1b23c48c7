import type { Database } from './database.ts';

export interface OutsideChangesOptions {
  readonly db: Database;
  readonly pollMs: number;
  /** Runs a read; its failure is reported by whoever runs it. */
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
    const version = await this.#options.read(() => this.#version()).catch(() => this.#seen);
    if (version === this.#seen) return;
    this.#seen = version;
    this.#options.refresh();
    for (const listener of this.#listeners) listener();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#listeners.length = 0;
  }

  #version(): number {
    return this.#options.db.get<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0;
  }
}
