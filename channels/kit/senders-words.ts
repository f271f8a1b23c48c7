/** Words that people chose, put beside words of ours: nothing in them may pass for ours. */

/** A name for display inside our brackets: it may close no bracket and start no line. At most 64 characters, `otherwise` if none is left. */
export function label(name: string, otherwise = 'unnamed'): string {
  const safe = name.replace(/[\p{C}\p{Z}[\]]+/gu, ' ').trim();
  return (safe || otherwise).slice(0, 64);
}

/** One bracketed line for what is neither text nor a file: `[poll: Lunch? | Yes | No]`. Neither its kind nor its words can end it. */
export function bracketNote(kind: string, ...words: readonly (string | null | undefined)[]): string {
  const inner = words
    .filter((word) => word)
    .join(' ')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replaceAll(']', ')')
    .replaceAll('[', '(')
    .slice(0, 1_000);
  return inner === '' ? `[${label(kind)}]` : `[${label(kind)}: ${inner}]`;
}
