import type { Clock } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';

/**
 * A row that was under way at this many crashes may be what causes them. Such rows run one at a time, so that
 * the next crash counts for one of them only: the others are not buried together with the culprit (F38).
 */
const SUSPECT_AFTER = 2;
/** Of a task: it is given up after the second one (`MOST_STARTS` in `src/journal/recovery.ts`). */
const TASK_SUSPECT_AFTER = 1;
/**
 * So long it runs by itself, unless it ends or parks before. What brings the process down mostly does so again
 * sooner; were there no bound, one task of hours would hold up all others that a power cut interrupted. A task
 * that goes on beyond it is given up together with the next one that brings the process down. ms.
 */
const TASK_ALONE_MS = 300_000;

/** Lets what may bring the process down run by itself. */
export class Suspects {
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #alone = new KeyedMutex();

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  /** Settles as the turn does. */
  async run({ profile, attempts }: Pick<RunRow, 'profile' | 'attempts'>, turn: () => Promise<void>): Promise<void> {
    const isTask = profile === 'task';
    if (attempts < (isTask ? TASK_SUSPECT_AFTER : SUSPECT_AFTER)) return await turn();
    let running = Promise.resolve();
    await this.#alone.runExclusive('', async () => {
      running = turn();
      const over = new AbortController();
      const limit = isTask ? [this.#clock.sleep(TASK_ALONE_MS, over.signal).catch(() => undefined)] : [];
      await Promise.race([running, ...limit]).finally(() => over.abort(NO_LONGER_NEEDED));
    });
    await running;
  }
}
