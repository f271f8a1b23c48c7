import type { Wakeup, Woken } from '../core/commit.ts';

/** Within one process: listeners are called at once, in the order they came. */
export class LocalWakeup implements Wakeup {
  readonly #listeners = new Set<(what: Woken, lane: string) => void>();

  notify(what: Woken, lane: string): void {
    for (const listener of this.#listeners) listener(what, lane);
  }

  listen(listener: (what: Woken, lane: string) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
