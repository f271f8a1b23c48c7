/** The score of the router (spec B5), of what was measured; lower is better. */

export interface ScoreWeights {
  /** Speed. */
  readonly latency: number;
  readonly error: number;
  /** Order in the config. */
  readonly priority: number;
  readonly cost: number;
}

/** Spec B5. */
export const DEFAULT_WEIGHTS: ScoreWeights = { latency: 0.3, error: 0.3, priority: 0.2, cost: 0.2 };

export interface ScoreInput {
  /** Recorded calls: errors count fully from the tenth on. */
  readonly calls: number;
  /** 0..1, of the recorded calls. */
  readonly errorRate: number;
  /** Tokens per second; absent = no sample. */
  readonly throughput?: number | undefined;
  /** Any unit, the same for all; absent = unknown, which counts as nothing. */
  readonly cost?: number | undefined;
}

/** Each 0 (best) to 1. */
export interface ScoreTerms {
  readonly error: number;
  readonly throughput: number;
  readonly priority: number;
  readonly cost: number;
}

/** One per input, whose index is its priority. */
export function scoreTerms(inputs: readonly ScoreInput[]): ScoreTerms[] {
  const most = (values: readonly (number | undefined)[]): number => values.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
  const maxThroughput = most(inputs.map(({ throughput }) => throughput));
  const maxCost = most(inputs.map(({ cost }) => cost));
  return inputs.map((input, priority) => ({
    error: input.errorRate * Math.min(1, input.calls / 10),
    throughput: input.throughput === undefined || maxThroughput === 0 ? 0.5 : 1 - input.throughput / maxThroughput,
    priority: priority / inputs.length,
    cost: input.cost === undefined || maxCost === 0 ? 0 : input.cost / maxCost,
  }));
}

/** Lower wins. */
export function weighed(terms: ScoreTerms, weights: ScoreWeights): number {
  return (
    weights.error * terms.error +
    weights.latency * terms.throughput +
    weights.priority * terms.priority +
    weights.cost * terms.cost
  );
}
