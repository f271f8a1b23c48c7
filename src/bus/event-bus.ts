import type { Emit, RunEvent } from '../core/events.ts';

/**
 * Fans run events out to observers (log, status, typing, trace). Synchronous and in order. An observer that
 * throws is reported to `onError` and disturbs neither the run nor the other observers.
 */
export class EventBus {
  readonly #observers = new Set<Emit>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  readonly emit: Emit = (event: RunEvent) => {
    for (const observer of this.#observers) {
      try {
        observer(event);
      } catch (error) {
        this.#onError(error);
      }
    }
  };

  observe(observer: Emit): Disposable {
    this.#observers.add(observer);
    return { [Symbol.dispose]: () => void this.#observers.delete(observer) };
  }
}
