// a summary whose words were erased -> the messages in the archive that it stands for, as they are now
import { compactedId, isCompacted, messagesIn } from '../agent/compact.ts';
import { ERASED } from '../core/erasure.ts';
import type { SessionMessage } from '../core/session.ts';

/** Whether an erasure took the words out of this summary. */
export function isEmptied(line: SessionMessage): boolean {
  return isCompacted(line) && line.content.split('\n').slice(1).join('\n') === ERASED;
}

export interface Part {
  readonly lines: readonly SessionMessage[];
  readonly begin: number;
  readonly end: number;
}

/**
 * The lines from `begin` to before `end`, with archived messages in place of each emptied summary. One stays
 * where it cannot be told for sure which messages it stands for.
 */
export function withArchived({ lines, begin, end }: Part, archived: readonly SessionMessage[]): readonly SessionMessage[] {
  return lines.slice(begin, end).flatMap((line, n) => {
    if (!isEmptied(line)) return [line];
    return standsFor(line, { next: lines[begin + n + 1]?.id, archived }) ?? [line];
  });
}

interface Behind {
  /** Id of the line behind the summary, which was archived together with those that the summary replaced. */
  readonly next: string | undefined;
  readonly archived: readonly SessionMessage[];
}

/** As many as the summary says, and the first of them as old as the summary is. */
function standsFor(summary: SessionMessage, { next, archived }: Behind): readonly SessionMessage[] | undefined {
  const last = archived.findLastIndex(({ id }) => compactedId(id) === summary.id);
  const end = last >= 0 ? last + 1 : archived.findLastIndex(({ id }) => id === next);
  const begin = end - messagesIn(summary);
  if (end <= 0 || begin < 0 || archived[begin]?.timestamp !== summary.timestamp) return undefined;
  return archived.slice(begin, end);
}
