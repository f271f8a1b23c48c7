/**
 * C0 and C1 controls, DEL, line separators and bidirectional overrides: what starts a new line, drives a
 * terminal (ECMA-48) or shows text in another order than it is written (Unicode TR 36). Joiners stay: emoji
 * and several scripts need them.
 */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Foreign text on one line of log or terminal: unprintable characters escaped, lone surrogates U+FFFD. */
export function printable(text: string): string {
  return text.toWellFormed().replace(UNPRINTABLE, escapeOf);
}

/** The same, but line breaks and tabs stay: for text that is shown as a block of its own. */
export function printableBlock(text: string): string {
  return text.toWellFormed().replace(UNPRINTABLE, (char) => (char === '\n' || char === '\t' ? char : escapeOf(char)));
}

function escapeOf(char: string): string {
  return SHORT[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
