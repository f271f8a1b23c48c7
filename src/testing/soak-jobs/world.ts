/** Time, and a journal that can be left between any two commits. */
import type { Write } from '../../core/commit.ts';
import type { Journal } from '../../core/journal.ts';
import type { Clock } from '../../core/ports.ts';

/** A stretch of the wall clock. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/**
 * Virtual time that passes when the one sleeper sleeps. `jumps`: how the wall clock is set, by monotonic
 * time, in order.
 */
export class World {
  monotonic = 0;
  #offset: number;
  /** Those that no process went through: it was down, or the clock was set forward. */
  readonly gaps: Gap[] = [];
  /** Those that a process went through, as they passed: no gap excuses what was due then. */
  readonly lived: Gap[] = [];
  jumped = 0;
  readonly #jumps: { readonly at: number; readonly by: number }[];

  constructor(start: number, jumps: readonly { readonly at: number; readonly by: number }[]) {
    this.#offset = start;
    this.#jumps = [...jumps];
  }

  now(): number {
    return this.monotonic + this.#offset;
  }

  pass(ms: number): void {
    this.monotonic += ms;
    while (this.#jumps[0] && this.#jumps[0].at <= this.monotonic) {
      const { by } = this.#jumps.shift() ?? { by: 0 };
      const from = this.now();
      this.#offset += by;
      this.jumped += 1;
      if (by > 0) this.gaps.push({ from: from - ms - 1_000, to: this.now() + 60_000 });
    }
  }

  /** As `pass`, with a process that runs. */
  live(ms: number): void {
    const [from, jumped] = [this.now(), this.jumped];
    this.pass(ms);
    if (jumped !== this.jumped) return;
    const last = this.lived.at(-1);
    if (last?.to === from) this.lived[this.lived.length - 1] = { from: last.from, to: from + ms };
    else this.lived.push({ from, to: from + ms });
  }
}

/** The clock of one process: once that is dead, nothing of it sleeps or wakes any more. */
export class LifeClock implements Clock {
  readonly #world: World;
  readonly #beforeSleep: () => Promise<boolean>;

  /** `beforeSleep`: what is to be done while time stands still; false = the process is dead. */
  constructor(world: World, beforeSleep: () => Promise<boolean>) {
    this.#world = world;
    this.#beforeSleep = beforeSleep;
  }

  now(): number {
    return this.#world.now();
  }

  monotonic(): number {
    return this.#world.monotonic;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!(await this.#beforeSleep())) await new Promise(() => undefined);
    signal?.throwIfAborted();
    this.#world.live(ms);
  }
}

class Killed extends Error {}

export interface Death {
  /** Monotonic; it dies some commits later. */
  readonly after: number;
  readonly commits: number;
  /** Before that commit, or after it and before its result is known. */
  readonly before: boolean;
}

/** The commits of one process. From its death on none is made any more. */
export function mortal(journal: Journal, death: Death, clock: Clock, onKill: () => void): Pick<Journal, 'commit'> {
  let left = death.commits;
  let isDead = false;
  const die = (): never => {
    isDead = true;
    onKill();
    throw new Killed('killed');
  };
  return {
    async commit(writes: readonly Write[], claim) {
      if (isDead) throw new Killed('dead');
      if (clock.monotonic() >= death.after) left -= 1;
      const isLast = left < 0;
      if (isLast && death.before) die();
      const done = await journal.commit(writes, claim);
      if (isLast) die();
      if (isDead) throw new Killed('dead');
      return done;
    },
  };
}
