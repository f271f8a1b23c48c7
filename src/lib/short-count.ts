/** `350`, `1.2k`. */
export function shortCount(count: number): string {
  return count < 1_000 ? String(count) : `${(count / 1_000).toFixed(1)}k`;
}
