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

  /** Whether one more is within the limit now. */
  hasRoom(key: string): boolean {
    return this.#recent(key).length < this.#limit;
  }

  count(key: string): void {
    this.#times.set(key, [...this.#recent(key), this.#clock.monotonic()]);
  }

  #recent(key: string): readonly number[] {
    const now = this.#clock.monotonic();
    for (const [one, times] of this.#times) {
      const recent = times.filter((at) => now - at < HOUR_MS);
      if (recent.length > 0) this.#times.set(one, recent);
      else this.#times.delete(one);
    }
    return this.#times.get(key) ?? [];
  }
}
