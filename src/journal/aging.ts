import type { Clock } from '../core/ports.ts';
import type { Database } from './database.ts';

const DAY_MS = 86_400_000;

/** Jumps of the wall clock are remembered as long as a row is kept by its date at most. */
const JUMPS_MS = 30 * DAY_MS;

/** At this ms of aging the wall clock went so many ms further than aging did; fewer than 0 = back. */
type Jump = readonly [aged: number, ms: number];

const MARK = `SELECT (SELECT value FROM meta WHERE name = 'aging_ms') AS aged, (SELECT value FROM meta WHERE name = 'aging_wall') AS wall`;

interface Mark {
  readonly aged: number;
  readonly wall: number;
}

/**
 * Time that stored things grow old by. It follows the wall clock, but stands still when that goes back and
 * gains at most one day between two marks, so a clock set a year ahead and back again forgets nothing (F22).
 * A machine that was off ages its keys too little, which keeps them longer: harmless. Stored, because it must
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
    return this.#at(this.#mark(), this.#clock.now());
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
    const mark = this.#mark();
    const wall = this.#clock.now();
    const aged = this.#at(mark, wall);
    const jumped = wall - mark.wall - (aged - mark.aged);
    if (jumped !== 0) this.#write('aging_jumps', JSON.stringify([...this.#jumps(aged - JUMPS_MS), [aged, jumped]]));
    this.#write('aging_ms', aged);
    this.#write('aging_wall', wall);
    return aged;
  }

  /**
   * At the newest mark: the date, epoch ms, before which things are `days` of aging old, at most 30. For what
   * is stored with a date of the wall clock. Never later than that clock says, now or before it was set: what
   * was dated by a clock that ran behind stays as long as anything else.
   */
  cut(days: number): number {
    const { aged, wall } = this.#mark();
    const ms = days * DAY_MS;
    // By how much a date of then may be behind what it would be by the clock of now.
    let [behind, most] = [0, 0];
    for (const [, by] of this.#jumps(aged - ms).toReversed()) {
      behind += by;
      most = Math.max(most, behind);
    }
    return wall - ms - most;
  }

  /** Since aging had come so far. */
  #jumps(since: number): readonly Jump[] {
    const sql = `SELECT jump.value ->> 0 AS aged, jump.value ->> 1 AS ms
      FROM json_each((SELECT value FROM meta WHERE name = 'aging_jumps')) AS jump WHERE jump.value ->> 0 > ?`;
    return this.#db.all<{ aged: number; ms: number }>(sql, since).map(({ aged, ms }) => [aged, ms]);
  }

  #write(name: string, value: number | string): void {
    const sql = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
    this.#db.run(sql, name, value);
  }

  #at(mark: Mark, wall: number): number {
    return mark.aged + Math.min(Math.max(wall - mark.wall, 0), DAY_MS);
  }

  #mark(): Mark {
    const { aged, wall } = this.#db.get<{ aged: number | null; wall: number | null }>(MARK) ?? { aged: null, wall: null };
    return { aged: aged ?? 0, wall: wall ?? this.#clock.now() };
  }
}
