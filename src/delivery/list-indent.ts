/** Four columns in front of the first line of a text are code to Markdown; in a list they were a depth. */
const DEEP = /^ {4,}(?=\S)/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)]) /;
/** A list is looked for so far back. */
const LOOK_BACK = 4_096;

/**
 * The first lines of a chunk that begins at `at`, moved to the left by the depth of the first where the chunk
 * before ended in a list.
 */
export function withoutListIndent(source: string, at: number, body: string): string {
  const [indent = ''] = DEEP.exec(body) ?? [];
  if (indent === '' || !isInList(source, at)) return body;
  const lines = body.split('\n');
  const end = lines.findIndex((line) => line.trim() !== '' && !line.startsWith(indent));
  return lines.map((line, index) => (end === -1 || index < end ? line.slice(indent.length) : line)).join('\n');
}

/** Whether the last line of less depth begins an item. */
function isInList(source: string, at: number): boolean {
  const before = source.slice(Math.max(0, at - LOOK_BACK), at).split('\n');
  const last = before.findLast((line) => line.trim() !== '' && !/^(?: {4}|\t)/.test(line));
  return last !== undefined && ITEM.test(last);
}
