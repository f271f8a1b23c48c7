const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** `3 min`, the largest unit that fits; less than a second is `0 s`. */
export function formatDuration(ms: number): string {
  for (const [unit, size] of UNITS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return '0 s';
}

/** `90 min`: in the largest unit of which it is a whole number. Parts of a second are left out. */
export function formatLength(ms: number): string {
  for (const [unit, size] of UNITS) if (ms >= size && ms % size === 0) return `${ms / size} ${unit}`;
  return `${Math.floor(ms / 1_000)} s`;
}

/** `3 min ago`, `in 2 h`, `just now`. The future loses no unit to a second: 1 h 59 min 59 s is `in 2 h`. */
export function formatRelative(at: number, now: number): string {
  const ms = now - at;
  if (Math.abs(ms) < 1_000) return 'just now';
  return ms > 0 ? `${formatDuration(ms)} ago` : `in ${formatNearest(-ms)}`;
}

/** Rounds to the next smaller unit first, then down: 59 min 59 s is 1 h, 91 min is 1 h. */
function formatNearest(ms: number): string {
  for (const [n, [unit, size]] of UNITS.entries()) {
    const step = UNITS[n + 1]?.[1] ?? size;
    const rounded = Math.round(ms / step) * step;
    if (rounded >= size) return `${Math.floor(rounded / size)} ${unit}`;
  }
  return '0 s';
}

/** ISO 8601 UTC: for programs. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** As `isoTime`; null where there is none. */
export function isoOrNull(at: number | undefined): string | null {
  return at === undefined ? null : isoTime(at);
}
