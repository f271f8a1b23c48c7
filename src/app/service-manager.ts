// NOTIFY_SOCKET of systemd -> READY once, WATCHDOG while the event loop turns, STOPPING; through
// systemd-notify
import { errorText } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { runProgram } from '../lib/run-program.ts';
import { startTimer } from '../lib/timer.ts';

/** Node has no unix datagrams, so a program of Debian's package `systemd` speaks for it. */
const PROGRAM = 'systemd-notify';
/** More often is of no use, and each is a process. ms. */
const BEAT_AT_MOST_MS = 30_000;
const TIMEOUT_MS = 10_000;

export interface ServiceManagerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Tells systemd how the daemon is, for `Type=notify` (sd_notify(3)). Without NOTIFY_SOCKET every call does
 * nothing, and no process is started. A manager that cannot be told is a warning: it must not stop a daemon
 * that works.
 */
export class ServiceManager implements Disposable {
  readonly #options: ServiceManagerOptions;
  #stopTimer: (() => void) | undefined;

  constructor(options: ServiceManagerOptions) {
    this.#options = options;
  }

  /** Once, when messages are taken. Resolves when the manager was told. */
  async ready(status: string): Promise<void> {
    await this.#tell('READY=1', `STATUS=${status}`);
    this.#beat();
  }

  async stopping(reason: string): Promise<void> {
    this[Symbol.dispose]();
    await this.#tell('STOPPING=1', `STATUS=stopping: ${reason}`);
  }

  [Symbol.dispose](): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** A loop that hangs sends none, and is started anew. Of the manager's time half is left for a slow one. */
  #beat(): void {
    const { env, clock } = this.#options;
    const limit = Number(env['WATCHDOG_USEC']) / 1_000;
    if (!env['NOTIFY_SOCKET'] || !(limit > 0)) return;
    this.#stopTimer = startTimer(clock, Math.min(BEAT_AT_MOST_MS, limit / 2), () => {
      void this.#tell('WATCHDOG=1');
      this.#beat();
    });
  }

  async #tell(...words: string[]): Promise<void> {
    const { env, clock, logger } = this.#options;
    const { NOTIFY_SOCKET: socket, PATH = '/usr/bin:/bin' } = env;
    if (!socket) return;
    const program = { cwd: '/', timeoutMs: TIMEOUT_MS, maxOutputBytes: 1_000, errorCode: 'GH1004', clock } as const;
    try {
      const argv = [PROGRAM, ...words] as [string, ...string[]];
      await runProgram({ ...program, argv, env: { NOTIFY_SOCKET: socket, PATH } }, AbortSignal.timeout(TIMEOUT_MS));
    } catch (error) {
      const hint = `install ${PROGRAM} (\`apt-get install systemd\`), or write Type=exec in the unit`;
      logger.warn('service-manager.untold', { what: words[0] ?? '', detail: errorText(error), hint });
    }
  }
}
