/** `old` and those of `lines` that are new: a new array, so that what a caller loaded earlier does not change. */
export function appendNew<T extends { readonly id: string }>(old: readonly T[], lines: readonly T[]): T[] {
  return [...old, ...newLines(new Set(old.map(({ id }) => id)), lines)];
}

/**
 * Those of `lines` that the session does not hold, each once. `held`: the ids in it, in its order.
 * `wasRotated`: its older lines may have been taken out.
 */
export function newLines<T extends { readonly id: string }>(
  held: ReadonlySet<string>,
  lines: readonly T[],
  wasRotated = false,
): T[] {
  const seen = new Set<string>();
  const from = wasRotated ? endOfHeld(held, lines) : 0;
  return lines.slice(from).filter(({ id }) => !held.has(id) && !seen.has(id) && seen.add(id));
}

/**
 * Index behind the piece of `lines` that is the whole session: the same lines come again after a crash, and a
 * rotation has taken out the ones before that piece. At the session's end they would be misplaced. 0 = there is
 * no such piece.
 */
function endOfHeld(held: ReadonlySet<string>, lines: readonly { readonly id: string }[]): number {
  const [oldest] = held;
  let index = lines.findIndex(({ id }) => id === oldest);
  if (index < 0) return 0;
  for (const id of held) {
    if (lines[index]?.id !== id) return 0;
    index += 1;
  }
  return index;
}
