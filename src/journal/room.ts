/**
 * How many more messages may wait, from those that wait or run, in memory. Counts only what is on disk;
 * messages on their way into the current transaction hold a reservation, so that two polls in one tick do not
 * both take the last places.
 */
export class Room {
  readonly #highWater: number;
  #active = 0;
  #reserved = 0;

  constructor(highWater: number) {
    this.#highWater = highWater;
  }

  get left(): number {
    return Math.max(0, this.#highWater - this.#active - this.#reserved);
  }

  /** After a commit of ours. */
  add(change: number): void {
    this.#active += change;
  }

  /** At the start, and after another process changed the file: what was counted there. */
  set(active: number): void {
    this.#active = active;
  }

  reserve(count: number): Disposable {
    this.#reserved += count;
    return {
      [Symbol.dispose]: () => {
        this.#reserved -= count;
      },
    };
  }
}
