/** What a conversation keeps of work in the background whose result it will not be told. */
import { chatOfLane, topicOf } from '../core/ids.ts';
import type { EndedRun, RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import { inMark, nameInMark } from '../lib/marks.ts';
import { hasTopic } from './held.ts';
import { addLines } from './session-lines.ts';
import type { Store } from './store.ts';

/**
 * Leaves a note in the transaction that ends a run without its agent. The conversation has read that it will
 * be told the result by itself: its next turn must know that none comes. A topic that was deleted is not
 * begun anew for it.
 */
export function leaveNote(store: Store, row: RunRow): EndedRun['note'] {
  if (row.message) return undefined;
  const { child, tells } = row.prompt;
  const report = child?.report;
  if (report) return write(store, row, report, `${nameOf(child.label)} was stopped. It has no result, and none will be told.`);
  // It had the result and did not begin: what it was to tell is in no other line.
  if (tells && row.generation === 0)
    return write(store, row, row, `${inMark(tells.excerpt)} (The turn that was to tell it was stopped.)`);
  return undefined;
}

function nameOf(label: string): string {
  return `The sub-agent “${nameInMark(label)}”, which was begun in the background,`;
}

interface Place {
  readonly lane: string;
  readonly session: string;
}

function write(store: Store, row: RunRow, { lane, session }: Place, content: string): EndedRun['note'] {
  if (!hasTopic(store, chatOfLane(lane), topicOf(session) ?? '')) return undefined;
  const { key, authority, taint = 0 } = row;
  const line: SessionMessage = {
    ...{ id: `${key}#stopped`, role: 'system', content, by: authority.principal },
    ...(taint === 0 ? {} : { taint }),
    timestamp: new Date(store.clock.now()).toISOString(),
  };
  addLines(store, session, [line]);
  return { session, line };
}
