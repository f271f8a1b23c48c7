/** The score of the router (spec B5): what is measured outweighs what the catalog says after ten calls. */

export interface ScoreWeights {
  /** Speed and quality. */
  readonly latency: number;
  readonly error: number;
  /** Order in the config. */
  readonly priority: number;
  readonly cost: number;
}

/** Spec B5. */
export const DEFAULT_WEIGHTS: ScoreWeights = { latency: 0.3, error: 0.3, priority: 0.2, cost: 0.2 };

export interface ScoreInput {
  /** Recorded calls. */
  readonly calls: number;
  /** 0..1, of the recorded calls. */
  readonly errorRate: number;
  /** 0..1 from the catalog; absent = unknown, which counts as stable. */
  readonly stability?: number | undefined;
  /** Quality from the catalog (deep-search output); absent = unknown, which counts as middling. */
  readonly output?: number | undefined;
  /** Tokens per second; absent = no sample. */
  readonly throughput?: number | undefined;
  /** Any unit, the same for all; absent = unknown, which counts as nothing. */
  readonly cost?: number | undefined;
}

/** Each 0 (best) to 1. */
export interface ScoreTerms {
  readonly error: number;
  readonly quality: number;
  readonly throughput: number;
  readonly priority: number;
  readonly cost: number;
}

/** One per input, whose index is its priority. */
export function scoreTerms(inputs: readonly ScoreInput[]): ScoreTerms[] {
  const most = (values: readonly (number | undefined)[]): number => values.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
  const maxQuality = most(inputs.map(catalogQuality));
  const maxThroughput = most(inputs.map(({ throughput }) => throughput));
  const maxCost = most(inputs.map(({ cost }) => cost));
  return inputs.map((input, priority) => {
    const measured = Math.min(1, input.calls / 10);
    const quality = catalogQuality(input);
    return {
      error: (1 - (input.stability ?? 1)) * (1 - measured) + input.errorRate * measured,
      quality: quality === undefined || maxQuality === 0 ? 0.5 : 1 - quality / maxQuality,
      throughput: input.throughput === undefined || maxThroughput === 0 ? 0.5 : 1 - input.throughput / maxThroughput,
      priority: priority / inputs.length,
      cost: input.cost === undefined || maxCost === 0 ? 0 : input.cost / maxCost,
    };
  });
}

/** What the catalog says of the quality of a model; undefined when it says nothing. */
export function catalogQuality({ output, stability }: Pick<ScoreInput, 'output' | 'stability'>): number | undefined {
  return output === undefined ? undefined : output * (stability ?? 1);
}

/** Lower wins. */
export function weighed(terms: ScoreTerms, weights: ScoreWeights): number {
  return (
    weights.error * terms.error +
    weights.latency * (0.6 * terms.quality + 0.4 * terms.throughput) +
    weights.priority * terms.priority +
    weights.cost * terms.cost
  );
}
