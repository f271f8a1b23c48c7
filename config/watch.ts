import type { Clock } from '../src/core/ports.ts';
import { NO_LONGER_NEEDED } from '../src/lib/no-longer-needed.ts';
import type { LoadedConfig } from './load.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';

export interface WatchOptions {
  readonly file: string;
  /** `LoadedConfig.hash` of what the process started with. */
  readonly hash: string | undefined;
  /** Checks this content of the file. */
  readonly load: (bytes: Uint8Array) => Promise<LoadedConfig>;
  /** Called for a changed, valid file; nothing is looked at before it resolves. Must not reject. */
  readonly onValid: (loaded: LoadedConfig) => Promise<void>;
  /** Called once per problem (`ConfigError` with file:line, or GH1102); the config in use stays. */
  readonly onInvalid: (error: unknown) => void;
  readonly clock: Clock;
  /** Default 5000 (spec F3). */
  readonly intervalMs?: number;
}

/**
 * How long a content has to stand untouched before it counts. What an editor or a deployment is in the middle
 * of writing may be half of one file and half of another, and valid all the same. ms.
 */
const SETTLE_MS = 250;

/**
 * Polls the file: inotify does not see bind mounts and network file systems, and editors replace files. Reads
 * only; never writes the file, never restarts.
 */
export class ConfigWatch {
  readonly #options: WatchOptions;
  #wake = new AbortController();
  #isAsked = false;
  /** What the last unusable content was reported with. */
  #problem: string | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Looks now and tells what there is, also when it did not change. */
  look(): void {
    this.#isAsked = true;
    this.#wake.abort(NO_LONGER_NEEDED);
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { file, hash, intervalMs = 5_000 } = this.#options;
    const settleMs = Math.min(SETTLE_MS, intervalMs);
    let seen = hash;
    let changed: Snapshot | undefined;
    const end = (): void => this.#wake.abort(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    while (!signal.aborted) {
      await this.#pause(changed || this.#isAsked ? settleMs : intervalMs, signal);
      if (signal.aborted) return;
      const found = await takeSnapshot(file);
      const isStill = changed?.stamp === found.stamp && changed.hash === found.hash;
      changed = isStill || (found.hash === seen && !this.#isAsked) ? undefined : found;
      if (!isStill || signal.aborted) continue;
      seen = found.hash;
      await this.#take(found, signal);
    }
  }

  async #take(found: Snapshot, signal: AbortSignal): Promise<void> {
    const { load, onValid } = this.#options;
    if (this.#isAsked) this.#problem = undefined;
    this.#isAsked = false;
    this.#wake = new AbortController();
    if (found.kind === 'unreadable') return this.#report(found.error);
    let loaded: LoadedConfig;
    try {
      loaded = await load(found.bytes);
    } catch (error) {
      return this.#report(error);
    }
    this.#problem = undefined;
    if (!signal.aborted) await onValid(loaded);
  }

  #report(error: unknown): void {
    const problem = String(error);
    if (problem !== this.#problem) this.#options.onInvalid(error);
    this.#problem = problem;
  }

  /** Ends early when the signal aborts, or when it is asked to look and has not begun to. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const early = this.#wake.signal.aborted ? signal : this.#wake.signal;
    await this.#options.clock.sleep(ms, early).catch((error: unknown) => {
      if (!early.aborted) throw error;
    });
  }
}
