/** A map that forgets what was set longest ago, for what matters only of late. A restart forgets it all. */
export class RecentMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Setting a key again makes it the newest. */
  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#most) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Oldest first. */
  [Symbol.iterator](): Iterator<readonly [string, Value]> {
    return this.#entries.entries();
  }
}

/**
 * A set like `RecentMap`. Adding again does not make an entry newer: what is seen twice at most needs no
 * second place.
 */
export class RecentSet {
  readonly #entries: RecentMap<true>;

  constructor(most: number) {
    this.#entries = new RecentMap(most);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  add(key: string): void {
    if (!this.#entries.has(key)) this.#entries.set(key, true);
  }
}
