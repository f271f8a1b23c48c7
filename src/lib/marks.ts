/**
 * The marks of the gateway in what the model reads. All of them are made with the functions of this file.
 *
 * Contract: where the model reads what people write, a line that begins with `[` is the gateway's. It says
 * who speaks, what was forwarded or quoted, which files came, what a recording says, or it is a note of the
 * system. No person can write such a line:
 * - words of people that begin a line with a bracket get a backslash before it (`words`);
 * - words within a mark are on its line, and their brackets are round (`mark`, `inMark`);
 * - words that stand whole below a mark are behind `  > ` on each line, up to a line `]` (`blockMark`);
 * - names hold no brackets and no line breaks (`nameInMark`), and none is a mark as a whole: who speaks is
 *   `[from NAME]` (`fromMark`), so that a person by the name of "Voice note" makes no mark of that kind.
 *
 * The backslash is Markdown's: models read `\[` as a bracket, and an answer that repeats it shows a bracket.
 * It also stands in code and before links, `\[text](address)`: an exception for these would be a way in. The
 * system prompt explains both rules (`src/agent/prompt.ts`).
 */
import { oneLine } from './one-line.ts';
import { visibleText } from './visible-text.ts';

/** `[from, to)` of a text, in UTF-16 units. */
export type TextRange = readonly [from: number, to: number];

/**
 * A bracket with nothing before it on its line that people see. Each control character but the tab counts as
 * the start of a line (Unicode TR 14: BK, CR, LF, NL; programs split at more). U+FF3B and U+FE47 are forms of
 * `[` (Unicode NFKC).
 */
const OPENS_LINE =
  /(?<=^|[\p{Cc}\p{Zl}\p{Zp}])(?<!\t)((?:\t|[\p{Zs}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\u2800])*)([[\uff3b\ufe47])/gu;
const LONGEST_MARK = 1_000;

/** Words of people, as the model reads them: no line of theirs begins with a bracket. */
export function words(text: string): string {
  return visibleText(text).replace(OPENS_LINE, '$1\\$2');
}

/** The same for a text of which some ranges are marks, in order. These stay as they are. */
export function markedWords(text: string, marks: readonly TextRange[] = []): string {
  return eachPiece(text, marks, (piece, isMark) => (isMark ? piece : words(piece)));
}

/** One line of ours with words of others in it. At most `limit` UTF-16 units of them are kept. */
export function mark(text: string, limit = LONGEST_MARK): string {
  return `[${inMark(text, limit)}]`;
}

/** Words of others for the inside of a mark: they can neither end it nor begin another. */
export function inMark(text: string, limit = LONGEST_MARK): string {
  return oneLine(roundBrackets(text), limit);
}

/** What ends a line for programs and people, of what `visibleText` leaves. */
const LINE_END = /\r\n|[\n\v\f\r\u0085\p{Zl}\p{Zp}]/u;
/** How lines of `blockMark` begin that are words of others. */
export const QUOTED_LINE = '  > ';
const EMPTY_LINE = QUOTED_LINE.trimEnd();

/**
 * A mark with words of others whole, in their own lines. Below `head`, words of ours as for `mark`, each of
 * their lines stands behind `  > `, so none of them begins like a mark or ends this one. At most `limit`
 * UTF-16 units of them are kept; how many are missing is said in a line of ours.
 *
 *     [in reply to another message, quoted below:
 *       > Milk
 *       > \[ ] eggs
 *     ]
 */
export function blockMark(head: string, text: string, limit: number): string {
  const whole = visibleText(text).trim();
  const shown = whole.length > limit ? whole.slice(0, limit).replace(/[\ud800-\udbff]$/, '') : whole;
  const left = whole.length - shown.length;
  const lines = shown.split(LINE_END).map((line) => `${QUOTED_LINE}${words(line)}`.trimEnd());
  return [
    `[${inMark(head)}:`,
    // A page of blank lines would cost more than it says.
    ...lines.filter((line, n) => line !== EMPTY_LINE || lines[n - 1] !== EMPTY_LINE),
    ...(left > 0 ? [`  (${left} more characters of it are left out)`] : []),
    ']',
  ].join('\n');
}

/** The same as `inMark` for a text of which some ranges are marks: their brackets stay. */
export function markedInMark(text: string, marks: readonly TextRange[] | undefined, limit: number): string {
  return oneLine(
    eachPiece(text, marks ?? [], (piece, isMark) => (isMark ? piece : roundBrackets(piece))),
    limit,
  );
}

/**
 * A name that people chose: one line without brackets, quotes and what is not seen. `otherwise` if none is
 * left.
 */
export function nameInMark(name: string, { limit = 64, otherwise = 'unnamed' } = {}): string {
  const safe = name.replace(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}[\]\uff3b\uff3d\ufe47\ufe48"“”„‟«»]+/gu, ' ').trim();
  if (safe === '') return otherwise;
  return safe.length > limit ? `${safe.slice(0, limit - 1).toWellFormed()}…` : safe;
}

/** Who speaks, by the name that they chose. */
export function fromMark(name: string): string {
  return `[from ${nameInMark(name)}]`;
}

/** The `origin` of a quotation that another person than the sender wrote. */
export function writtenBy(name: string): string {
  return `written by ${nameInMark(name)}, not by the sender`;
}

/** The name in such an `origin`; undefined: it is another one. */
export function nameWritten(origin: string): string | undefined {
  return /^written by (.+), not by the sender$/.exec(origin)?.[1];
}

function roundBrackets(text: string): string {
  return text.replace(/[[\uff3b\ufe47]/g, '(').replace(/[\]\uff3d\ufe48]/g, ')');
}

/** A range that is not whole lines in brackets is words: its text may have been replaced or cut since. */
function eachPiece(text: string, marks: readonly TextRange[], change: (piece: string, isMark: boolean) => string): string {
  let [out, at] = ['', 0];
  for (const [from, to] of marks) {
    if (from < at || !isMark(text, from, to)) continue;
    out += change(text.slice(at, from), false) + change(text.slice(from, to), true);
    at = to;
  }
  return out + change(text.slice(at), false);
}

function isMark(text: string, from: number, to: number): boolean {
  const isWhole = (from === 0 || text[from - 1] === '\n') && (to === text.length || text[to] === '\n');
  return isWhole && to > from && text[from] === '[' && text[to - 1] === ']';
}
