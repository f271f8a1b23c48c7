// lines of runs that went on side by side -> the order in which it was all said
import type { SessionMessage } from '../core/session.ts';

/** Whether the run of this key left the line. */
export function isOfRun({ id }: SessionMessage, key: string): boolean {
  return id === `${key}:in` || id.startsWith(`${key}#`);
}

/**
 * The lines by time where runs went on beside each other: each of them left its lines when it ended. All
 * others keep their places, and a call stays with its results.
 */
export function orderLines(lines: readonly SessionMessage[]): readonly SessionMessage[] {
  const mains = new Set(lines.flatMap(({ beside }) => beside ?? []));
  let ordered = lines;
  for (const key of mains) ordered = orderBeside(ordered, key);
  return ordered;
}

function orderBeside(lines: readonly SessionMessage[], key: string): readonly SessionMessage[] {
  const isMeant = (line: SessionMessage): boolean => line.beside === key || isOfRun(line, key);
  const sorted = groups(lines.filter(isMeant)).toSorted(([one], [other]) => timeOf(one) - timeOf(other));
  let left = 0;
  return lines.flatMap((line) => {
    if (!isMeant(line)) return [line];
    left += 1;
    // A group has its whole place where its first line has one; what it takes from later lines is owed.
    const group = left > 0 ? (sorted.shift() ?? []) : [];
    left -= group.length;
    return group;
  });
}

/** A call with its results. */
function groups(lines: readonly SessionMessage[]): readonly (readonly SessionMessage[])[] {
  const made: SessionMessage[][] = [];
  for (const line of lines) {
    const last = made.at(-1);
    if (line.role === 'tool' && last) last.push(line);
    else made.push([line]);
  }
  return made;
}

function timeOf(line: SessionMessage | undefined): number {
  return line ? Date.parse(line.timestamp) : 0;
}
