/** `old` and those of `lines` whose id is new: a new array, so that what a caller loaded earlier does not change. */
export function appendNew<T extends { readonly id: string }>(old: readonly T[], lines: readonly T[]): T[] {
  const ids = new Set(old.map(({ id }) => id));
  const fresh = lines.filter(({ id }) => !ids.has(id) && ids.add(id));
  return [...old, ...fresh];
}
