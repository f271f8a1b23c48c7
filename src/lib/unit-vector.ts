/** The values as a vector of length 1; undefined for what is no vector or has no direction (zeros, NaN). */
export function toUnitVector(values: unknown): Float32Array | undefined {
  if (!Array.isArray(values) || values.length === 0) return undefined;
  let squares = 0;
  for (const value of values) {
    if (typeof value !== 'number') return undefined;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  if (!Number.isFinite(length) || length === 0) return undefined;
  return Float32Array.from(values, (value: number) => value / length);
}
