// how long answers of a chat take -> are they much slower than usual? (spec A9)

/** Latencies that are remembered, and those of them that make the first baseline. */
const WINDOW = 20;
const FIRST = 5;
/** A latency this many times the baseline is slow; so many of them in a row are trouble. */
const SLOW_FACTOR = 3;
const SLOW_IN_A_ROW = 3;
/** Of the old baseline, when a window is full. */
const KEPT = 0.8;
const PATIENCE_FACTOR = 2;
const LEAST_PATIENCE_MS = 10_000;
const PATIENCE_WITHOUT_BASELINE_MS = 30_000;

/** Watches the turns of one chat that ended normally. Times in ms. */
export class Responsiveness {
  #latencies: number[] = [];
  #count = 0;
  #baseline: number | undefined;
  #slow = 0;
  #isActive = false;

  get isActive(): boolean {
    return this.#isActive;
  }

  /** Absent = too few turns have ended. */
  get baseline(): number | undefined {
    return this.#baseline;
  }

  /** How long a person may be expected to wait. For diagnosis only: nothing is decided by it. */
  get patience(): number {
    if (this.#baseline === undefined) return PATIENCE_WITHOUT_BASELINE_MS;
    return Math.max(LEAST_PATIENCE_MS, PATIENCE_FACTOR * this.#baseline);
  }

  /** What this turn changed. A turn is judged by the baseline of before it. */
  sample(ms: number): 'activated' | 'deactivated' | undefined {
    const isSlow = this.#baseline !== undefined && ms > SLOW_FACTOR * this.#baseline;
    this.#slow = isSlow ? this.#slow + 1 : 0;
    this.#learn(ms);
    if (!this.#isActive && this.#slow >= SLOW_IN_A_ROW) {
      this.#isActive = true;
      return 'activated';
    }
    if (!this.#isActive || isSlow) return undefined;
    this.#isActive = false;
    return 'deactivated';
  }

  /** Something else decides from now on. */
  leave(): void {
    this.#isActive = false;
    this.#slow = 0;
  }

  #learn(ms: number): void {
    this.#count += 1;
    this.#latencies = [...this.#latencies, ms].slice(-WINDOW);
    if (this.#count === FIRST) this.#baseline = median(this.#latencies);
    else if (this.#baseline !== undefined && this.#count % WINDOW === 0)
      this.#baseline = KEPT * this.#baseline + (1 - KEPT) * median(this.#latencies);
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
