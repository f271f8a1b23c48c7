import type { Clock } from '../core/ports.ts';

const HOUR_MS = 3_600_000;

/** What happened within the last hour, by key, up to a limit. */
export class HourlyCounts {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limit: number;
  /** Monotonic ms, oldest first. */
  readonly #times = new Map<string, number[]>();

  constructor(clock: Pick<Clock, 'monotonic'>, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Counts one more, unless the limit is reached. */
  take(key: string): boolean {
    const now = this.#clock.monotonic();
    for (const [one, times] of this.#times) {
      const recent = times.filter((at) => now - at < HOUR_MS);
      if (recent.length > 0) this.#times.set(one, recent);
      else this.#times.delete(one);
    }
    const times = this.#times.get(key) ?? [];
    if (times.length >= this.#limit) return false;
    this.#times.set(key, [...times, now]);
    return true;
  }
}
