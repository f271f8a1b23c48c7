/**
 * Whether a run of `*`, `_` or `~` can begin or end emphasis: CommonMark 6.2, with one rule more for scripts
 * without blanks.
 */

/**
 * Letters and signs of scripts that put no blanks between words. Emoji are none of them: they stand alone.
 * https://github.com/commonmark/commonmark-spec/pull/839 (open) says wide, full-width and half-width
 * characters, and Hangul.
 */
const WIDE =
  /^[\p{Script_Extensions=Han}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\p{Script_Extensions=Hangul}\p{Script_Extensions=Bopomofo}\p{Script_Extensions=Yi}\u3000-\u303F\uFE30-\uFE4F\uFF01-\uFF60\uFFE0-\uFFE6]/u;
const PUNCTUATION = /^[\p{P}\p{S}]/u;
const BLANK = /^\s/u;

export interface Flanking {
  readonly canOpen: boolean;
  readonly canClose: boolean;
}

/**
 * Of the run `text.slice(at, at + length)`. `**注意：**请`: by CommonMark a mark between a punctuation sign and a
 * letter neither begins
 * nor ends emphasis on the side of the sign, which takes blanks between words for granted
 * (https://github.com/commonmark/commonmark-spec/issues/650). Beside a wide character a mark counts as if it
 * stood at the edge of a word.
 */
export function flankingOf(text: string, at: number, length: number, end = text.length): Flanking {
  if (length === 1 && isNoMark(text, at)) return { canOpen: false, canClose: false };
  const before = charBefore(text, at);
  const after = at + length < end ? String.fromCodePoint(text.codePointAt(at + length) ?? 0) : '';
  const [blankBefore, blankAfter] = [isBlank(before), isBlank(after)];
  const [signBefore, signAfter] = [PUNCTUATION.test(before), PUNCTUATION.test(after)];
  const beside = WIDE.test(before) || WIDE.test(after);
  const left = !blankAfter && (!signAfter || blankBefore || signBefore || beside);
  const right = !blankBefore && (!signBefore || blankAfter || signAfter || beside);
  // `_` is a part of names.
  if (text[at] !== '_') return { canOpen: left, canClose: right };
  return { canOpen: left && (!right || signBefore), canClose: right && (!left || signAfter) };
}

/**
 * A sign of multiplication, as in `2*3*4`; of any file, as in `*.ts`; the arm in `¯\\_(ツ)_/¯`, whose
 * backslash is escaped.
 */
function isNoMark(text: string, at: number): boolean {
  const [before = '', after = ''] = [text[at - 1], text[at + 1]];
  if (text[at] === '_') return before === '\\';
  if (/\d/.test(before) && /\d/.test(after)) return true;
  return (before === '' || /[\s/(]/.test(before)) && after === '.' && /[\p{L}\p{N}]/u.test(text[at + 2] ?? '');
}

/** The start and the end of a text count as blanks. */
function isBlank(char: string): boolean {
  return char === '' || BLANK.test(char);
}

function charBefore(text: string, at: number): string {
  const low = text.charCodeAt(at - 1);
  return at >= 2 && low >= 0xdc00 && low <= 0xdfff ? text.slice(at - 2, at) : text.slice(Math.max(0, at - 1), at);
}
