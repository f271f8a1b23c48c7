/** A sync that takes no longer is not worth a trip to the thread pool, which costs about 0.1 ms. ms. */
const QUICK_MS = 1;
/** A sync beside a busy loop that takes so long is slow, however late the loop hears of it. ms. */
const SLOW_MS = 100;
/** Syncs beside the event loop that are looked at together. */
const LOOK_AT = 32;
/** Of them, as many have to be quick: a busy event loop hears late of the others. */
const ENOUGH = 8;
/** Syncs by which it is told how long one takes now, and how many there must have been. */
const NEWEST = 16;
const FEWEST = 4;

/**
 * Whether the disk is quick enough to wait for it in the event loop. It is not until enough syncs beside the
 * loop were quick, and not after one in the loop that was slow.
 */
export class SyncPace {
  #isQuick = false;
  #seen = 0;
  #quick = 0;
  /** ms, as far as the loop knows. */
  readonly #newest: number[] = [];

  /** How long a sync takes now: the median of the newest. Undefined before there were a few. ms. */
  get typicalMs(): number | undefined {
    if (this.#newest.length < FEWEST) return undefined;
    return this.#newest.toSorted((a, b) => a - b)[Math.floor(this.#newest.length / 2)];
  }

  get isQuick(): boolean {
    return this.#isQuick;
  }

  /** A sync beside the loop ended, as far as the loop knows. */
  besideLoop(ms: number): void {
    this.#note(ms);
    this.#seen += 1;
    if (ms <= QUICK_MS) this.#quick += 1;
    if (this.#seen < LOOK_AT) return;
    this.#isQuick = this.#quick >= ENOUGH;
    this.#seen = 0;
    this.#quick = 0;
  }

  /** A sync ended beside a loop that was too busy to wait for it, although the disk is quick. */
  underLoad(ms: number): void {
    this.#note(ms);
    if (ms >= SLOW_MS) this.#isQuick = false;
  }

  /** A sync in the loop ended. */
  inLoop(ms: number): void {
    this.#note(ms);
    if (ms > QUICK_MS) this.#isQuick = false;
  }

  #note(ms: number): void {
    this.#newest.push(ms);
    if (this.#newest.length > NEWEST) this.#newest.shift();
  }
}
