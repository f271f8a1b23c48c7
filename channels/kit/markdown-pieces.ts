/** A Markdown text in pieces that the parser reads in bounded time. */

export interface Piece {
  readonly text: string;
  /** Where it begins, 0-based. */
  readonly line: number;
  /** To be shown as it was written: the parser would take too long. */
  readonly isAbsurd: boolean;
}

/** The parser is quadratic on some hostile text (0.2 s at this size, 1 s at 60 000). */
const MAX_PARSED = 16_384;
/**
 * A larger text is shown as it was written: no channel takes one in a part, but the terminal, which shows it
 * so in any case.
 */
const MAX_TEXT = 131_072;
/**
 * A line that opens 33 quotes or lists. Each step takes at least one marker and has one way to match, so the
 * test is linear.
 */
const NESTED_ABSURDLY = /^(?:[ \t]{0,8}(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){33}/m;
/** Emphasis is resolved in quadratic time over a run of its marks; a ruled line is shorter than this. */
const MARK_RUN = /[*_~]{257}/;
/**
 * Every `![` looks for its end again, and every row is filled up to the columns of its table: each a second
 * at the largest size. With the flag m, ^ would also begin anew behind each of many carriage returns.
 */
const WIDE_TABLE = /(?:^|\n)(?:[^|\n]*\|){257}/;
const MOST_PICTURES = 500;

/**
 * The whole text where it is short enough. A longer one is cut at empty lines outside of code; what is long
 * without one is absurd.
 */
export function piecesOf(text: string): readonly Piece[] {
  if (text.length <= MAX_PARSED || text.length > MAX_TEXT) return [{ text, line: 0, isAbsurd: isAbsurd(text) }];
  const pieces: Piece[] = [];
  let from = 0;
  let line = 0;
  for (const end of [...ends(text), text.length]) {
    const piece = text.slice(from, end);
    if (piece === '') continue;
    pieces.push({ text: piece, line, isAbsurd: isAbsurd(piece) });
    line += piece.split('\n').length - 1;
    from = end;
  }
  return pieces;
}

/** Each empty line outside of code that is the last one before a piece would be too long. */
function ends(text: string): readonly number[] {
  const found: number[] = [];
  let fence: string | undefined;
  let from = 0;
  let empty = 0;
  for (const { 0: all, index, groups = {} } of text.matchAll(/[ \t]*(?<mark>`{3,}|~{3,})?[^\n]*(?:\n|$)/g)) {
    if (index - from > MAX_PARSED && empty > from) {
      found.push(empty);
      from = empty;
    }
    const { mark } = groups;
    if (mark !== undefined && fence === undefined) fence = mark;
    else if (mark !== undefined && fence !== undefined && mark.startsWith(fence)) fence = undefined;
    else if (fence === undefined && all.trim() === '') empty = index + all.length;
  }
  if (text.length - from > MAX_PARSED && empty > from) found.push(empty);
  return found;
}

function isAbsurd(text: string): boolean {
  if (text.length > MAX_PARSED || MARK_RUN.test(text) || NESTED_ABSURDLY.test(text) || WIDE_TABLE.test(text)) return true;
  let pictures = 0;
  for (let at = text.indexOf('!['); at >= 0; at = text.indexOf('![', at + 2)) pictures += 1;
  return pictures > MOST_PICTURES;
}
