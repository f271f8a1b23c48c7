import type { Clock } from '../core/ports.ts';
import { systemClock } from '../lib/clock.ts';

/** How often a sleeper looks at the time. ms. */
const TICK_MS = 20;
/** The most that goes by between two looks, however long this process stood still. ms. */
const MOST_MS = 2 * TICK_MS;

/**
 * A clock that runs `factor` times as fast as real time and stands still while this process does. A pause of
 * half a second, which is ten seconds twenty times as fast, is then no time at all: what a peer in this
 * process sent before the pause is read before a deadline ends. `now` is the wall clock of the machine.
 */
export class SteadyClock implements Clock {
  readonly #factor: number;
  #elapsed = 0;
  #lookedAt = systemClock.monotonic();

  constructor(factor = 1) {
    this.#factor = factor;
  }

  now(): number {
    return systemClock.now();
  }

  monotonic(): number {
    const at = systemClock.monotonic();
    this.#elapsed += Math.min(at - this.#lookedAt, MOST_MS);
    this.#lookedAt = at;
    return this.#elapsed * this.#factor;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const end = this.monotonic() + ms;
    let left = ms;
    do {
      await systemClock.sleep(Math.min(left / this.#factor, TICK_MS), signal);
      left = end - this.monotonic();
    } while (left > 0);
  }
}
