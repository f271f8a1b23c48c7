import { GatehouseError } from '../core/errors.ts';
import type { Database } from './database.ts';
import { FileCheck, type FileState } from './file-check.ts';

const ROW = 'in_use';

export interface FileWatchOptions {
  readonly db: Database;
  readonly bootId: string;
  /** Whether a file that was left in use still needs its check; a small one had it when it was opened. */
  readonly needsCheck: boolean;
  /** Told once, unless the journal is closed before the check has ended. */
  readonly onChecked: (state: FileState) => void;
  readonly onDamage: (error: GatehouseError) => void;
}

/**
 * Knows whether the process before ended in order. A row in the file says that it is in use: it is written
 * with the first commit and removed at the end. Where it is found, the file is checked beside the work. It
 * stays when this process could not vouch for the file: after GH1302, or when it ended before the check did.
 */
export class FileWatch {
  readonly #options: FileWatchOptions;
  #noted = false;
  #row: string | undefined;
  #check: FileCheck | undefined;
  #isTrusted = true;

  constructor(options: FileWatchOptions) {
    this.#options = options;
    this.#row = options.db.get<{ value: string }>('SELECT value FROM meta WHERE name = ?', ROW)?.value;
    if (this.#row !== undefined && options.needsCheck) void this.#start();
  }

  /** In every transaction. */
  note(): void {
    if (this.#noted) return;
    const { db, bootId } = this.#options;
    db.run('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value', ROW, bootId);
  }

  /** After every commit. */
  committed(): void {
    this.#noted = true;
    this.#row = this.#options.bootId;
  }

  /** Before the connection is closed. Never throws: a row that stays costs one check. */
  close(isSound: boolean): void {
    this.#check?.[Symbol.dispose]();
    this.#check = undefined;
    if (!isSound || !this.#isTrusted || this.#row === undefined) return;
    try {
      this.#options.db.run('DELETE FROM meta WHERE name = ? AND value = ?', ROW, this.#row);
    } catch {
      return;
    }
  }

  async #start(): Promise<void> {
    const { db, onChecked, onDamage } = this.#options;
    this.#isTrusted = false;
    using check = new FileCheck(db.path);
    this.#check = check;
    const state = await check.state;
    if (this.#check === undefined) return;
    this.#isTrusted = state.kind === 'sound';
    onChecked(state);
    if (state.kind === 'damaged') onDamage(new GatehouseError('GH1302', `${db.path} is damaged: ${state.detail}`));
  }
}
