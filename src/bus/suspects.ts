import type { Clock } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';

/**
 * A row that was under way at this many crashes may be what causes them. Such rows run one at a time, so that
 * the next crash counts for one of them only: the others are not buried together with the culprit (F38).
 */
const SUSPECT_AFTER = 2;
/** Of a task: it is given up after the second one (`MOST_STARTS` in `src/journal/recovery.ts`). */
const TASK_SUSPECT_AFTER = 1;
/**
 * So long all tasks that a crash interrupted run by themselves, in equal shares, unless they end or park
 * before. What brings the process down mostly does so again sooner. Without a bound, one call of hours would
 * hold up all the others. A task that goes on beyond it is given up together with the next one that brings
 * the process down. ms.
 */
const TASKS_ALONE_MS = 300_000;
/** The share of each is no smaller, and no larger while a conversation waits behind it. ms. */
const LEAST_SHARE_MS = 10_000;

interface Suspect {
  readonly isTask: boolean;
  /** Its place has come. */
  readonly begin: () => void;
}

/** Lets what may bring the process down run by itself: conversations first, then tasks as they came. */
export class Suspects {
  readonly #clock: Pick<Clock, 'sleep' | 'monotonic'>;
  #waiting: readonly Suspect[] = [];
  #isTaken = false;
  /** Tasks that came since none waited. */
  #tasks = 0;

  constructor(clock: Pick<Clock, 'sleep' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** Settles as the turn does. */
  async run({ profile, attempts }: Pick<RunRow, 'profile' | 'attempts'>, turn: () => Promise<void>): Promise<void> {
    const isTask = profile === 'task';
    if (attempts < (isTask ? TASK_SUSPECT_AFTER : SUSPECT_AFTER)) return await turn();
    if (isTask) this.#tasks += 1;
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    this.#waiting = [...this.#waiting, { isTask, begin }];
    this.#next();
    await begun;
    const running = turn();
    const ended = running.catch(() => undefined);
    await (isTask ? this.#share(ended) : ended);
    this.#isTaken = false;
    this.#next();
    await running;
  }

  #next(): void {
    if (this.#isTaken) return;
    const next = this.#waiting.find(({ isTask }) => !isTask) ?? this.#waiting[0];
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#isTaken = next !== undefined;
    if (next) next.begin();
    else this.#tasks = 0;
  }

  /** Until the turn has ended, or its share is over: others may come meanwhile, and make it smaller. */
  async #share(ended: Promise<void>): Promise<void> {
    const since = this.#clock.monotonic();
    const over = new AbortController();
    const end = ended.then(() => over.abort(NO_LONGER_NEEDED));
    for (;;) {
      const leftMs = since + this.#shareMs - this.#clock.monotonic();
      if (over.signal.aborted || leftMs <= 0) break;
      await Promise.race([end, this.#clock.sleep(Math.min(LEAST_SHARE_MS, leftMs), over.signal).catch(() => undefined)]);
    }
    over.abort(NO_LONGER_NEEDED);
  }

  get #shareMs(): number {
    const waits = this.#waiting.some(({ isTask }) => !isTask);
    return waits ? LEAST_SHARE_MS : Math.max(LEAST_SHARE_MS, TASKS_ALONE_MS / this.#tasks);
  }
}
