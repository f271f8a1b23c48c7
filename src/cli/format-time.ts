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

/** `3 min ago`, `in 2 h`, `just now`: for people. */
export function formatRelative(at: number, now: number): string {
  const ms = now - at;
  if (Math.abs(ms) < 1_000) return 'just now';
  return ms > 0 ? `${formatDuration(ms)} ago` : `in ${formatDuration(-ms)}`;
}

/** ISO 8601 UTC: for programs. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}
