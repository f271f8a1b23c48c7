/**
 * `old` and those of `lines` that are new: a new array, so that what a caller loaded earlier does not
 * change.
 */
export function appendNew<T extends { readonly id: string }>(old: readonly T[], lines: readonly T[]): T[] {
  return [...old, ...newLines(new Set(old.map(({ id }) => id)), lines)];
}

/** Those of `lines` that the session does not hold, each once. `held`: the ids in it. */
export function newLines<T extends { readonly id: string }>(held: ReadonlySet<string>, lines: readonly T[]): T[] {
  const seen = new Set<string>();
  return lines.filter(({ id }) => !held.has(id) && !seen.has(id) && seen.add(id));
}

/**
 * The lines before the piece of `lines` that is the whole session. A rotation may have taken them out: the
 * same lines come again after a crash, and at the session's end they would be misplaced. Other lines may
 * stand there too, so the archive has to tell. Empty where there is no such piece. `held`: the ids in the
 * session, in its order.
 */
export function linesBeforeHeld<T extends { readonly id: string }>(held: ReadonlySet<string>, lines: readonly T[]): readonly T[] {
  const [oldest] = held;
  const from = lines.findIndex(({ id }) => id === oldest);
  if (from <= 0) return [];
  let index = from;
  for (const id of held) {
    if (lines[index]?.id !== id) return [];
    index += 1;
  }
  return lines.slice(0, from);
}
