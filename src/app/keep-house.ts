import { errorText } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';

const HOUR_MS = 3_600_000;

/** Old rows are removed at start and every hour, off the path of any message. */
export function keepHouse(prune: () => Promise<void>, clock: Clock, logger: Logger): Disposable {
  const stop = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await prune();
        await clock.sleep(HOUR_MS, stop.signal);
      } catch (error) {
        if (!stop.signal.aborted) {
          logger.warn('journal.prune-failed', { detail: errorText(error) });
          await clock.sleep(HOUR_MS, stop.signal).catch(() => undefined);
        }
      }
    }
  };
  void loop();
  return { [Symbol.dispose]: () => stop.abort(new Error('housekeeping ends')) };
}
