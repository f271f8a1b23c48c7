/**
 * What stands on no screen, or in another order than it is written: controls, format characters, blanks other
 * than the space, fillers. Half of a pair, too.
 */
const UNSEEN = /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800`]/gu;

/**
 * A value as JSON in which a person sees every character: what is not seen is escaped, and so are backticks,
 * which would end a block of code. It reads back as the same value.
 */
export function spellOut(value: unknown): string {
  const lines = (JSON.stringify(value, null, 2) ?? 'null').split('\n');
  return lines.map((line) => line.replace(UNSEEN, escaped)).join('\n');
}

/** A text of others in which people see every character, line by line. At most `limit` UTF-16 units of it. */
export function spellOutText(text: string, limit: number): string {
  const cut = text.length > limit ? `${text.slice(0, limit).toWellFormed()}…` : text;
  return cut
    .split(/\r?\n/)
    .map((line) => line.replace(UNSEEN, escaped))
    .join('\n');
}

function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, n) => `\\u${char.charCodeAt(n).toString(16).padStart(4, '0')}`).join('');
}
