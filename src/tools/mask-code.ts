/** Source text -> text of the same length, with blanks for comments and for what quotes hold. One pass. */

export interface Lexis {
  readonly lineComment: readonly string[];
  /** Block comments of slash and star. */
  readonly hasBlocks: boolean;
  /** Quotes that end at the line's end at the latest. */
  readonly quotes: string;
  /** Quotes that go on over lines, longest first. */
  readonly longQuotes: readonly string[];
  /** Of `longQuotes`, those in which a backslash is one. */
  readonly rawQuotes?: readonly string[];
  /** `/…/`, where an operand may stand. */
  readonly hasRegExps?: true;
  /** `'a` is a lifetime, `r#"…"#` a string. */
  readonly isRust?: true;
  /** Lines that begin with # are no code, nor are those that they go on in. */
  readonly hasPreprocessor?: true;
}

/** Longest delimiter of a raw string that is looked for. */
const MOST_HASHES = 16;
/**
 * Longest regular expression that is looked for: of slashes that begin none, each would read all of its line.
 */
const MOST_REGEXP = 500;
/** A slash behind one of these, or behind nothing, begins a regular expression. */
const BEFORE_OPERAND = /(?:^|[(,=:[!&|?{};+\-*%~^<>\n]|\b(?:return|case|typeof|do|else|in|of|await|yield|void|delete))\s*$/;

export function maskCode(code: string, lexis: Lexis): string {
  const out: string[] = [];
  const mark = new RegExp(`[${beginnings(lexis)}]`, 'g');
  let copied = 0;
  for (let found = mark.exec(code); found; found = mark.exec(code)) {
    const end = skipped(code, found.index, lexis);
    if (end <= found.index) continue;
    out.push(code.slice(copied, found.index), blank(code.slice(found.index, end)));
    copied = end;
    mark.lastIndex = end;
  }
  return out.join('') + code.slice(copied);
}

/** Characters that something which is no code can begin with. */
function beginnings({ lineComment, hasBlocks, quotes, longQuotes, hasRegExps, isRust, hasPreprocessor }: Lexis): string {
  const more = [hasBlocks || hasRegExps ? '/' : '', isRust ? "r'" : '', hasPreprocessor ? '#' : ''];
  return [...new Set([quotes, ...more, ...[...lineComment, ...longQuotes].map((mark) => mark.charAt(0))].join(''))].join('');
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}

/** Where what begins here and is no code ends; `at` when it is code. */
function skipped(code: string, at: number, lexis: Lexis): number {
  const char = code[at] ?? '';
  if (lexis.lineComment.some((mark) => code.startsWith(mark, at))) return lineEnd(code, at);
  if (lexis.hasBlocks && code.startsWith('/*', at)) return after(code, '*/', at + 2);
  if (lexis.hasPreprocessor && char === '#' && isFirst(code, at)) return directiveEnd(code, at);
  if (lexis.isRust && (char === 'r' || char === "'")) return rustEnd(code, at);
  const long = lexis.longQuotes.find((quote) => code.startsWith(quote, at));
  if (long !== undefined) return longEnd(code, at, long, lexis);
  if (lexis.quotes.includes(char)) return isApostrophe(code, at) ? at : quoteEnd(code, at, char);
  if (lexis.hasRegExps && char === '/' && BEFORE_OPERAND.test(code.slice(Math.max(0, at - 20), at))) return regExpEnd(code, at);
  return at;
}

function lineEnd(code: string, at: number): number {
  const end = code.indexOf('\n', at);
  return end === -1 ? code.length : end;
}

function after(code: string, mark: string, from: number): number {
  const end = code.indexOf(mark, from);
  return end === -1 ? code.length : end + mark.length;
}

/** Nothing but blanks before it in its line. Looks back a little only: a line may be a megabyte. */
function isFirst(code: string, at: number): boolean {
  return /(?:^|\n)[ \t]*$/.test(code.slice(Math.max(0, at - 100), at));
}

function directiveEnd(code: string, at: number): number {
  let end = lineEnd(code, at);
  while (end < code.length && /\\\r?$/.test(code.slice(Math.max(at, end - 2), end))) end = lineEnd(code, end + 1);
  return end;
}

/** As in "don't": of words, not of code. */
function isApostrophe(code: string, at: number): boolean {
  return (
    code[at] === "'" &&
    /[A-Za-z]$/.test(code.slice(Math.max(0, at - 1), at)) &&
    /^[A-Za-z]{1,2}\b(?!')/.test(code.slice(at + 1, at + 5))
  );
}

function quoteEnd(code: string, at: number, quote: string): number {
  for (let i = at + 1; i < code.length; i += 1) {
    if (code[i] === '\\') i += 1;
    else if (code[i] === quote) return i + 1;
    else if (code[i] === '\n') return i;
  }
  return code.length;
}

function longEnd(code: string, at: number, quote: string, { rawQuotes = [] }: Lexis): number {
  if (rawQuotes.includes(quote)) return after(code, quote, at + quote.length);
  for (let i = at + quote.length; i < code.length; i += 1) {
    if (code[i] === '\\') i += 1;
    else if (code.startsWith(quote, i)) return i + quote.length;
  }
  return code.length;
}

function regExpEnd(code: string, at: number): number {
  let inClass = false;
  const most = Math.min(code.length, at + MOST_REGEXP);
  for (let i = at + 1; i < most && code[i] !== '\n'; i += 1) {
    if (code[i] === '\\') i += 1;
    else if (code[i] === '[') inClass = true;
    else if (code[i] === ']') inClass = false;
    else if (code[i] === '/' && !inClass) return i + 1;
  }
  // It was a division.
  return at;
}

function rustEnd(code: string, at: number): number {
  if (code[at] === "'") {
    const char = /^'(?:\\[^\n]{1,10}?|[^\\'\n]{1,2})'/.exec(code.slice(at, at + 14));
    return char ? at + char[0].length : at;
  }
  if (/\w$/.test(code.slice(Math.max(0, at - 1), at)) && code[at - 1] !== 'b') return at;
  const raw = /^r(#*)"/.exec(code.slice(at, at + MOST_HASHES + 2));
  return raw ? after(code, `"${raw[1] ?? ''}`, at + raw[0].length) : at;
}
