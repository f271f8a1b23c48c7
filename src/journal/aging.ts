import type { Clock } from '../core/ports.ts';
import type { Database } from './database.ts';

const DAY_MS = 86_400_000;

/**
 * Time that dedup keys grow old by. It follows the wall clock, but stands still when that goes back and gains
 * at most one day between two marks, so a clock set a year ahead and back again forgets nothing (F22). A
 * machine that was off ages its keys too little, which keeps them longer: harmless. Stored, because it must
 * not start over with the process.
 */
export class AgingClock {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Ms of aging so far. Inside a transaction or between two. */
  now(): number {
    const mark = this.#mark();
    return mark.aged + this.#since(mark.wall);
  }

  /**
   * Ms by which the wall clock went on since the last mark, uncapped; 0 when it went back, and before the
   * first mark.
   */
  gap(): number {
    return Math.max(0, this.#clock.now() - this.#mark().wall);
  }

  /** Fixes the present as the new mark; call in a transaction, more often than once a day. */
  advance(): number {
    const aged = this.now();
    const sql = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
    this.#db.run(sql, 'aging_ms', aged);
    this.#db.run(sql, 'aging_wall', this.#clock.now());
    return aged;
  }

  #since(wall: number): number {
    return Math.min(Math.max(this.#clock.now() - wall, 0), DAY_MS);
  }

  #mark(): { aged: number; wall: number } {
    return { aged: this.#number('aging_ms') ?? 0, wall: this.#number('aging_wall') ?? this.#clock.now() };
  }

  #number(name: string): number | undefined {
    return this.#db.get<{ value: number }>('SELECT value FROM meta WHERE name = ?', name)?.value;
  }
}
