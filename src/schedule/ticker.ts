// earliest date of all -> one timer -> fire -> again
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { Dated } from '../core/wait.ts';

/** Decided by the wall clock; what `fire` leaves undone is asked for again after a second. */
export interface TickerSource extends Dated {
  /**
   * The clock went back, or the process begins: a date that was worked out before may be later than it should
   * be. What lies after `since` has not been looked at with the clock as it is now.
   */
  replan?(since: number): Promise<void>;
}

/** A clock that is set is noticed this late at the latest, by those who wait for a date. */
const LONGEST_SLEEP_MS = 60_000;
const RETRY_MS = 1_000;
/** Corrections by less are no jump; clocks are slewed all the time. */
const JUMP_MS = 1_000;

export interface TickerOptions {
  readonly sources: readonly TickerSource[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * One timer for everything that has a date. Without a date there is none: it sleeps until it is woken. A
 * failure (a full disk) is logged and tried again, at first after a second, then less often.
 */
export class Ticker implements AsyncDisposable {
  readonly #options: TickerOptions;
  readonly #stopping = new AbortController();
  #woken = true;
  #wakeSleeper: () => void = () => undefined;
  #seen: { readonly wall: number; readonly monotonic: number } | undefined;
  #failures = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: TickerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** There may be an earlier date: look again. */
  wake(): void {
    this.#woken = true;
    this.#wakeSleeper();
  }

  /** Resolves once what is being fired has its commit. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the ticker stops'));
    this.#wakeSleeper();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#woken = false;
      const wait = await this.#round();
      if (!this.#woken && !signal.aborted) await this.#sleep(wait);
    }
  }

  /** How long to sleep after it; undefined = until something has a date. */
  async #round(): Promise<number | undefined> {
    const { clock, logger } = this.#options;
    try {
      const wait = await this.#fireDue();
      this.#failures = 0;
      return wait;
    } catch (error) {
      // Looked at anew: a clock that went back was perhaps not answered.
      this.#seen = undefined;
      const retryInMs = Math.min(RETRY_MS * 2 ** this.#failures, LONGEST_SLEEP_MS);
      this.#failures += 1;
      const code = isGatehouseError(error) ? error.code : 'GH1703';
      if (!this.#stopping.signal.aborted)
        logger.warn('schedule.failed', { code, detail: errorText(error), at: clock.now(), retryInMs });
      return retryInMs;
    }
  }

  async #fireDue(): Promise<number | undefined> {
    const { sources, clock } = this.#options;
    const since = this.#setBackSince();
    const failures: unknown[] = [];
    this.#look();
    let first: number | undefined;
    for (const source of sources) {
      try {
        if (since !== undefined) await source.replan?.(since);
        const next = await this.#fireOne(source);
        first = next === undefined ? first : Math.min(first ?? next, next);
      } catch (error) {
        // The dates of the others are no less due.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    if (first === undefined) return undefined;
    return first <= clock.now() ? RETRY_MS : Math.min(first - clock.now(), LONGEST_SLEEP_MS);
  }

  /** When it has something to do next; a time that is over where it did not do all. */
  async #fireOne(source: Dated): Promise<number | undefined> {
    const { clock } = this.#options;
    const due = await source.earliest();
    if (due === undefined || due > clock.now()) return due;
    await source.fire(clock.now());
    return await source.earliest();
  }

  /** What the clock would have shown at the last look, had it been set by then; at the first look, now. */
  #setBackSince(): number | undefined {
    const { clock } = this.#options;
    const now = clock.now();
    if (!this.#seen) return now;
    const passed = clock.monotonic() - this.#seen.monotonic;
    return now < this.#seen.wall + passed - JUMP_MS ? now - passed : undefined;
  }

  #look(): void {
    const { clock } = this.#options;
    this.#seen = { wall: clock.now(), monotonic: clock.monotonic() };
  }

  async #sleep(ms: number | undefined): Promise<void> {
    const woken = new AbortController();
    const wake = Promise.withResolvers<void>();
    this.#wakeSleeper = () => {
      woken.abort(new Error('woken'));
      wake.resolve();
    };
    const sleep = ms === undefined ? wake.promise : this.#options.clock.sleep(Math.max(ms, 0), woken.signal);
    await sleep.catch(() => undefined);
    this.#wakeSleeper = () => undefined;
  }
}
