/** A sync that takes no longer is not worth a trip to the thread pool, which costs about 0.1 ms. ms. */
const QUICK_MS = 1;
/** Syncs beside the event loop that are looked at together. */
const LOOK_AT = 32;
/** Of them, as many have to be quick: a busy event loop hears late of the others. */
const ENOUGH = 8;

/**
 * Whether the disk is quick enough to wait for it in the event loop. It is not until enough syncs beside the
 * loop were quick, and not after one in the loop that was slow.
 */
export class SyncPace {
  #isQuick = false;
  #seen = 0;
  #quick = 0;

  get isQuick(): boolean {
    return this.#isQuick;
  }

  /** A sync beside the loop ended, as far as the loop knows. */
  besideLoop(ms: number): void {
    this.#seen += 1;
    if (ms <= QUICK_MS) this.#quick += 1;
    if (this.#seen < LOOK_AT) return;
    this.#isQuick = this.#quick >= ENOUGH;
    this.#seen = 0;
    this.#quick = 0;
  }

  /** A sync in the loop ended. */
  inLoop(ms: number): void {
    if (ms > QUICK_MS) this.#isQuick = false;
  }
}
