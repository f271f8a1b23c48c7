/** Samples kept for the 95th percentile and the error rate (spec B5). */
const RING = 64;
/** Weight of a new sample in a moving average (spec B5). */
const ALPHA = 0.3;

export interface Sample {
  /** To the end of the answer, without the time its consumer took. ms. */
  readonly latencyMs: number;
  /** To the first text or reasoning; absent when the answer had none before its end. ms. */
  readonly firstTokenMs?: number;
  readonly tokensOut?: number;
}

/** Live figures of one model. Cancelled calls are not recorded at all. */
export class Metrics {
  readonly #latencies: number[] = [];
  readonly #outcomes: boolean[] = [];
  #nextLatency = 0;
  #nextOutcome = 0;
  successes = 0;
  failures = 0;
  /** Moving averages; undefined before the first sample, which sets them. */
  latencyMs: number | undefined;
  firstTokenMs: number | undefined;
  tokensPerSecond: number | undefined;

  get calls(): number {
    return this.successes + this.failures;
  }

  /**
   * Share of failures among the last 64 outcomes that count, 0 without any. Over all time, an outage would be
   * held against a model that recovered for as long as the daemon runs.
   */
  get errorRate(): number {
    if (this.#outcomes.length === 0) return 0;
    return this.#outcomes.filter((succeeded) => !succeeded).length / this.#outcomes.length;
  }

  /** Of the last 64 successful calls: the sample of rank ceil(0.95 n). Undefined without any. */
  get p95Ms(): number | undefined {
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    return sorted[Math.min(Math.ceil(0.95 * sorted.length), sorted.length) - 1];
  }

  succeeded(sample: Sample): void {
    this.successes += 1;
    this.#addOutcome(true);
    this.#addLatency(sample.latencyMs);
    this.latencyMs = this.#blend(this.latencyMs, sample.latencyMs);
    if (sample.firstTokenMs !== undefined) this.firstTokenMs = this.#blend(this.firstTokenMs, sample.firstTokenMs);
    if (sample.tokensOut && sample.latencyMs > 0) {
      this.tokensPerSecond = this.#blend(this.tokensPerSecond, (sample.tokensOut * 1_000) / sample.latencyMs);
    }
  }

  /**
   * `expected`: the circuit was open, so this was a trial or a last resort. It counts, but not in the error
   * rate, which is about use: after an hour of failed trials a recovered model would be last for hours.
   */
  failed({ expected }: { expected: boolean }): void {
    this.failures += 1;
    if (!expected) this.#addOutcome(false);
  }

  #addOutcome(succeeded: boolean): void {
    this.#outcomes[this.#nextOutcome] = succeeded;
    this.#nextOutcome = (this.#nextOutcome + 1) % RING;
  }

  #addLatency(ms: number): void {
    this.#latencies[this.#nextLatency] = ms;
    this.#nextLatency = (this.#nextLatency + 1) % RING;
  }

  #blend(average: number | undefined, sample: number): number {
    return average === undefined ? sample : ALPHA * sample + (1 - ALPHA) * average;
  }
}
