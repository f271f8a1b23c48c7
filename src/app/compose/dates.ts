import type { Wakeup } from '../../core/commit.ts';
import { errorText } from '../../core/errors.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import type { Dated } from '../../core/wait.ts';

/** A clock that was set is noticed after this long at the latest. ms. */
const LONGEST_SLEEP_MS = 60_000;
/** Before the next try, when something could not be written. ms. */
const RETRY_MS = 1_000;

/** One timer for everything with a date; it sleeps until the earliest, and looks again when a commit brings a new one. */
export function watchDates(dated: Dated, wakeup: Wakeup, { clock, logger }: { clock: Clock; logger: Logger }): Disposable {
  const closing = new AbortController();
  let nudge = new AbortController();
  const listening = wakeup.listen((what) => {
    if (what === 'wait') nudge.abort();
  });
  const sleepUntil = async (at: number | undefined, least = 0): Promise<void> => {
    const ms = at === undefined ? LONGEST_SLEEP_MS : Math.max(least, Math.min(LONGEST_SLEEP_MS, at - clock.now()));
    await clock.sleep(ms, nudge.signal).catch(() => undefined);
  };
  const loop = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      nudge = new AbortController();
      try {
        await dated.fire(clock.now());
        await sleepUntil(await dated.earliest());
      } catch (error) {
        if (closing.signal.aborted) return;
        logger.warn('dates.failed', { detail: errorText(error) });
        await sleepUntil(clock.now() + RETRY_MS, RETRY_MS);
      }
    }
  };
  void loop();
  return {
    [Symbol.dispose]() {
      listening[Symbol.dispose]();
      closing.abort();
      nudge.abort();
    },
  };
}
