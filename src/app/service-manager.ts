/**
 * Tells systemd of the daemon, by its program `systemd-notify`, because Node has no datagram sockets of Unix. Without
 * NOTIFY_SOCKET nothing is started.
 */
import { spawn } from 'node:child_process';
import { errorText } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';

const MAX_PING_MS = 30_000;
const NOTIFY_LIMIT_MS = 10_000;

export interface ServiceManagerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the journal works. While it resolves to false, rejects or does not settle, the watchdog is not pinged. */
  readonly isWell: () => Promise<boolean>;
}

export class ServiceManager {
  readonly #options: ServiceManagerOptions;
  readonly #over = new AbortController();

  constructor(options: ServiceManagerOptions) {
    this.#options = options;
  }

  /** The daemon serves. From now on the watchdog is pinged, if the service has one. To be called once. */
  ready(status: string): void {
    const { env } = this.#options;
    if (!env['NOTIFY_SOCKET']) return;
    void this.#notify('READY=1', `STATUS=${status}`);
    const limitMs = Number(env['WATCHDOG_USEC']) / 1_000;
    if (limitMs > 0) void this.#ping(Math.min(MAX_PING_MS, limitMs / 2));
  }

  /** The daemon stops, and needs no watchdog any more. Resolves when it was told. */
  async stopping(reason: string): Promise<void> {
    this.#over.abort(new Error('the daemon stops'));
    await this.#notify('STOPPING=1', `STATUS=stopping: ${reason}`);
  }

  async #ping(everyMs: number): Promise<void> {
    const { clock, isWell, logger } = this.#options;
    const { signal } = this.#over;
    while (!signal.aborted) {
      const well = await isWell().catch(() => false);
      if (well && !signal.aborted) await this.#notify('WATCHDOG=1');
      if (!well) logger.warn('watchdog.held', { detail: 'the journal does not work, so systemd is not told that all is well' });
      await clock.sleep(everyMs, signal).catch(() => undefined);
    }
  }

  /** Never rejects: a service manager that cannot be told ends the daemon itself, and the log says why. */
  async #notify(...lines: readonly string[]): Promise<void> {
    const { env, logger } = this.#options;
    const { NOTIFY_SOCKET: socket, PATH: path } = env;
    if (!socket) return;
    await new Promise<void>((resolve) => {
      const child = spawn('systemd-notify', lines, {
        env: { NOTIFY_SOCKET: socket, ...(path ? { PATH: path } : {}) },
        stdio: 'ignore',
        timeout: NOTIFY_LIMIT_MS,
      });
      const failed = (detail: string): void =>
        logger.warn('systemd.not-told', { detail, hint: 'install systemd, which has systemd-notify' });
      child.once('error', (error) => {
        failed(errorText(error));
        resolve();
      });
      child.once('close', (code) => {
        // Negative: it did not start, which `error` has told.
        if (code !== null && code > 0) failed(`systemd-notify ended with ${code}`);
        resolve();
      });
    });
  }
}
