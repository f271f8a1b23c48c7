/** Empty for anything but a string; numbers are written out, since ids and times come as either. */
export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}
