import { Mutex } from 'async-mutex';

/** Mutual exclusion per key, first come first served. A key costs memory only while held or waited for. */
export class KeyedMutex {
  readonly #mutexes = new Map<string, { mutex: Mutex; users: number }>();

  get size(): number {
    return this.#mutexes.size;
  }

  async runExclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    const entry = this.#mutexes.get(key) ?? { mutex: new Mutex(), users: 0 };
    this.#mutexes.set(key, entry);
    entry.users += 1;
    try {
      return await entry.mutex.runExclusive(work);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#mutexes.delete(key);
    }
  }
}
