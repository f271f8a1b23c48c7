/** Where a text that is not in a file was probably meant to be. */

/** A file with more lines is looked through so far; each line counts by its beginning. */
const MOST_LINES = 20_000;
const LINE_CHARS = 200;
const MOST_NAMED = 3;
/** Share of pairs of characters that both lines have. */
const ALIKE = 0.5;

/**
 * The lines of a file that are most like the first line of `wanted` that is not blank, best first, as
 * `line 12: text`. Empty when none is like it.
 */
export function nearLines(lines: readonly string[], wanted: string): readonly string[] {
  const sought = wanted.split('\n').find((line) => line.trim() !== '');
  if (sought === undefined) return [];
  const pairs = pairsOf(sought);
  return lines
    .slice(0, MOST_LINES)
    .map((line, i) => ({ line, number: i + 1, share: likeness(pairs, pairsOf(line)) }))
    .filter(({ share }) => share >= ALIKE)
    .sort((a, b) => b.share - a.share || a.number - b.number)
    .slice(0, MOST_NAMED)
    .map(({ line, number }) => `line ${number}: ${shown(line)}`);
}

function shown(line: string): string {
  const text = line.trimEnd();
  return text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)}…` : text;
}

/** Of neighbouring characters, blanks left out: lines that differ in their indentation alone are equal. */
function pairsOf(line: string): ReadonlySet<string> {
  const text = line.slice(0, LINE_CHARS).replace(/\s/g, '');
  if (text.length < 2) return new Set(text);
  return new Set(Array.from({ length: text.length - 1 }, (_, i) => text.slice(i, i + 2)));
}

function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0;
  const shared = [...a].filter((pair) => b.has(pair)).length;
  return (2 * shared) / (a.size + b.size);
}
