import type { ModelEvent } from '../../core/model.ts';

/** Pieces of one burst that are passed on singly: readers see the answer grow. */
const SINGLE_PIECES = 32;

type Piece = Extract<ModelEvent, { type: 'text' | 'reasoning' }>;

/**
 * Joins the pieces of an answer that arrive at once. A server or proxy that sends thousands of words in one
 * write would otherwise cost each wrapper around a model a few promises per word. The next turn of the event
 * loop ends a burst.
 */
export class Burst {
  #held: Piece | undefined;
  #pieces = 0;
  #turning = false;
  readonly #onTurn: () => void;

  /** `onTurn`: the burst is over while something is held; `take` it now. */
  constructor(onTurn: () => void) {
    this.#onTurn = onTurn;
  }

  /** What to pass on now, in order. */
  add(event: ModelEvent): readonly ModelEvent[] {
    if (event.type !== 'text' && event.type !== 'reasoning') return [...this.take(), event];
    this.#pieces += 1;
    this.#expectTurn();
    if (this.#pieces <= SINGLE_PIECES) return [event];
    const before = this.#held;
    if (before && before.type !== event.type) {
      this.#held = event;
      return [before];
    }
    this.#held = before ? { type: event.type, text: before.text + event.text } : event;
    return [];
  }

  take(): readonly ModelEvent[] {
    const held = this.#held;
    this.#held = undefined;
    return held ? [held] : [];
  }

  #expectTurn(): void {
    if (this.#turning) return;
    this.#turning = true;
    setImmediate(() => {
      this.#turning = false;
      this.#pieces = 0;
      if (this.#held) this.#onTurn();
    });
  }
}
