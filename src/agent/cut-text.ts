const MARK = '\n[… cut]';

/** At most `max` UTF-16 units, mark included, and no half surrogate pair. A second cut changes nothing. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${head(text, Math.max(0, max - MARK.length))}${MARK}`;
}

/** The first line, at most `max` units, without a mark. */
export function firstLine(text: string, max: number): string {
  return head(text.trimStart().split('\n', 1)[0] ?? '', max);
}

function head(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}
