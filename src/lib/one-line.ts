import { visibleText } from './visible-text.ts';

/**
 * A text of strangers on one line, bounded, so that it can be marked plainly as theirs (A4), without what no
 * person sees (A32). `limit` in UTF-16 units.
 */
export function oneLine(text: string, limit: number): string {
  const line = visibleText(text)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  return line.length > limit ? `${line.slice(0, limit).toWellFormed()}…` : line;
}
