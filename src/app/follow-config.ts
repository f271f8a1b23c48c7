import type { LoadedConfig } from '../../config/load.ts';
import { type WatchOptions, watchConfig } from '../../config/watch.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { Daemon } from './daemon.ts';

export interface FollowOptions {
  readonly config: LoadedConfig;
  readonly reload?: () => Promise<LoadedConfig>;
  readonly reloadEveryMs?: number;
}

/**
 * Applies changes of the config file to the running daemon until disposed (F40): what can change at once does, from the next turn
 * on; the rest is named in the log once; a file with a problem is reported with file and line, and the config in use stays.
 */
export function followConfig(options: FollowOptions, daemon: Daemon, clock: Clock, logger: Logger): AsyncDisposable {
  const { config, reload, reloadEveryMs } = options;
  const stop = new AbortController();
  let waiting = '';
  const onValid: WatchOptions['onValid'] = ({ loaded, hot, restart }) => {
    daemon.reconfigure(loaded.config);
    for (const warning of loaded.warnings) logger.warn('config.warning', { path: warning.path, detail: warning.message });
    if (hot.length > 0) logger.info('config.applied', { keys: hot });
    // The watch names these again with every later change; people need to hear it once.
    if (restart.length > 0 && restart.join() !== waiting) logger.warn('config.needs-restart', { keys: restart });
    waiting = restart.join();
  };
  const onInvalid = (error: unknown): void => {
    const hint = isGatehouseError(error) ? { code: error.code, hint: error.hint } : {};
    logger.error('config.invalid', { ...hint, detail: `${errorText(error)}; the config in use stays` });
  };
  const watching =
    config.file === undefined || !reload
      ? Promise.resolve()
      : watchConfig({
          file: config.file,
          initial: config,
          load: reload,
          onValid,
          onInvalid,
          clock,
          signal: stop.signal,
          ...(reloadEveryMs === undefined ? {} : { intervalMs: reloadEveryMs }),
        });
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the daemon is stopping'));
      await watching;
    },
  };
}
