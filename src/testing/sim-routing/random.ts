/** Numbers 0 <= x < 1 that depend on the parts alone, not on earlier draws: all modes meet the same day. */
export function draw(...parts: readonly (number | string)[]): number {
  let state = 0x811c9dc5;
  for (const char of parts.join('/')) state = Math.imul(state ^ char.charCodeAt(0), 0x01000193); // FNV-1a
  // mulberry32: similar inputs come out far apart.
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
}

/** Log-normal with this median: the shape of waiting times and of lengths of texts. */
export function drawAround(median: number, sigma: number, ...parts: readonly (number | string)[]): number {
  const radius = Math.sqrt(-2 * Math.log(1 - draw(...parts, 'radius')));
  return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * draw(...parts, 'angle')));
}
