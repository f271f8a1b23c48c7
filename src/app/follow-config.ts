// config file -> watch (settled, checked) -> Daemon.reload -> terminal, log and `gatehouse status`
import type { LoadedConfig } from '../../config/load.ts';
import { ConfigWatch } from '../../config/watch.ts';
import { ERROR_CODES } from '../core/error-codes.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { changesByCost, changesText, type KeyChange } from '../core/reload.ts';
import type { ConfigStatus } from '../core/status.ts';
import type { Daemon } from './daemon.ts';

export interface FollowOptions {
  readonly config: LoadedConfig;
  /** Checks this content of the file. Absent: the file is not followed. */
  readonly reload?: (bytes: Uint8Array) => Promise<LoadedConfig>;
  readonly reloadEveryMs?: number;
  /** Told in a sentence what became of a changed file. */
  readonly say: (text: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Applies changes of the config file to the running daemon (F40): each key is told with what it cost, and
 * those that wait for a restart stay in `status` until it. A file with a problem, or one that a part of the
 * daemon refuses, changes nothing.
 */
export class ConfigFollower implements AsyncDisposable {
  readonly #options: FollowOptions;
  readonly #stop = new AbortController();
  readonly #watch: ConfigWatch | undefined;
  #daemon: Pick<Daemon, 'reload'> | undefined;
  #watching: Promise<void> = Promise.resolve();
  #needsRestart: readonly string[] = [];
  #applied: ConfigStatus['applied'];
  #problem: ConfigStatus['problem'];

  constructor(options: FollowOptions) {
    this.#options = options;
    const { config, reload, reloadEveryMs: intervalMs, clock } = options;
    if (config.file === undefined || !reload) return;
    this.#watch = new ConfigWatch({
      ...{ file: config.file, hash: config.hash, load: reload, clock },
      onValid: (loaded) => this.#take(loaded),
      onInvalid: (error) => this.#refuse('config.invalid', error),
      ...(intervalMs === undefined ? {} : { intervalMs }),
    });
  }

  start(daemon: Pick<Daemon, 'reload'>): void {
    this.#daemon = daemon;
    if (this.#watch) this.#watching = this.#watch.run(this.#stop.signal);
  }

  /** Looks at the file now; before `start`, as soon as that. */
  look(): void {
    if (this.#watch) this.#watch.look();
    else
      this.#options.logger.warn('config.no-file', {
        hint: 'this daemon started without a config file: restart it after `gatehouse init`',
      });
  }

  status(): ConfigStatus {
    const { file } = this.#options.config;
    return {
      ...(file === undefined ? {} : { file }),
      needsRestart: this.#needsRestart,
      ...(this.#applied ? { applied: this.#applied } : {}),
      ...(this.#problem ? { problem: this.#problem } : {}),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the daemon is stopping'));
    await this.#watching;
  }

  async #take({ config, warnings }: LoadedConfig): Promise<void> {
    const { logger, clock, say } = this.#options;
    let changes: readonly KeyChange[] | undefined;
    try {
      changes = await this.#daemon?.reload(config, this.#stop.signal);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#refuse('config.refused', error);
    }
    if (!changes) return;
    this.#problem = undefined;
    for (const warning of warnings) logger.warn('config.warning', { path: warning.path, detail: warning.message });
    const { live, restarted, waiting } = changesByCost(changes);
    if (live.length + restarted.length > 0) {
      const lost = restarted.reduce((sum, change) => sum + (change.lost ?? 0), 0);
      const parts = restarted.length === 0 ? {} : { restarted: restarted.map(({ key }) => key), lost };
      logger.info('config.applied', { keys: live.map(({ key }) => key), ...parts });
    }
    const needsRestart = waiting.map(({ key }) => key);
    // Each reload names these again; the operator needs to hear it once.
    const isNews = needsRestart.join() !== this.#needsRestart.join();
    if (isNews && needsRestart.length > 0) logger.warn('config.needs-restart', { keys: needsRestart });
    if (changes.length === 0) logger.info('config.unchanged');
    this.#needsRestart = needsRestart;
    this.#applied = { at: clock.now(), changes };
    say(`config: ${changesText(changes)}`);
  }

  #refuse(event: 'config.invalid' | 'config.refused', error: unknown): void {
    const { logger, clock, say } = this.#options;
    const code = isGatehouseError(error) ? error.code : 'GH1101';
    const hint = isGatehouseError(error) ? error.hint : ERROR_CODES.GH1101.hint;
    logger.error(event, { code, hint, detail: `${errorText(error)}; the config in use stays` });
    const message = isGatehouseError(error) ? error.message : errorText(error);
    this.#problem = { at: clock.now(), code, detail: `${message}; the config in use stays`, hint };
    say(`config: kept running on the previous one: ${errorText(error)}`);
  }
}
