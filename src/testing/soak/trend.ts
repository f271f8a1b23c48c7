// A line through measured points, and how sure its slope is.

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Trend {
  /** Of y for each step of x, by least squares. */
  readonly slope: number;
  /** The 95 % confidence interval of the slope. Infinite with fewer than three points. */
  readonly low: number;
  readonly high: number;
  /** Of all y. */
  readonly mean: number;
}

/** Two-sided 95 % quantiles of Student's t by degrees of freedom, from one on; far out the normal's hold. */
const T_95 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101,
  2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
] as const;
const T_FAR = 1.96;

/**
 * Fits a line. The interval takes the points' distances from the line as independent; where memory breathes
 * slowly that is not quite so, and the interval is a little too narrow.
 */
export function trendOf(points: readonly Point[]): Trend {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const mean = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const spread = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  const slope = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - mean), 0) / spread;
  const freedom = points.length - 2;
  if (freedom < 1) return { slope, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, mean };
  const rest = points.reduce((sum, { x, y }) => sum + (y - mean - slope * (x - meanX)) ** 2, 0);
  const margin = (T_95[freedom - 1] ?? T_FAR) * Math.sqrt(rest / freedom / spread);
  return { slope, low: slope - margin, high: slope + margin, mean };
}

export interface Verdict {
  readonly name: string;
  readonly unit: string;
  readonly mean: number;
  /** Over `over` steps of x, with its interval. */
  readonly growth: number;
  readonly low: number;
  readonly high: number;
  readonly limit: number;
  readonly isFlat: boolean;
}

/**
 * `atMost`: the growth over `over` steps that still counts as flat, in the unit of y. With `isProved` it must
 * be sure by 95 % that it grows by no more; else it must not be sure that it grows by more, for what is too
 * noisy to prove anything in one run.
 */
export function judge(
  { name, unit, points }: { readonly name: string; readonly unit: string; readonly points: readonly Point[] },
  { over, atMost, isProved }: { readonly over: number; readonly atMost: (mean: number) => number; readonly isProved: boolean },
): Verdict {
  const { slope, low, high, mean } = trendOf(points);
  const limit = atMost(mean);
  const isFlat = (isProved ? high : low) * over <= limit;
  return { name, unit, mean, growth: slope * over, low: low * over, high: high * over, limit, isFlat };
}
