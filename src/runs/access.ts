import { childFactsOf } from '../core/child.ts';
import { chatKey, principalOf } from '../core/ids.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import type { ToolAccess } from '../core/turn.ts';
import { nameInMark } from '../lib/marks.ts';
import { oneLine } from '../lib/one-line.ts';
import { personShown } from './behalf.ts';
import { homeOf } from './child-run.ts';
import type { RunnerOptions } from './runner-options.ts';
import type { Told } from './told.ts';

/** Longest quotation of the task of a sub-agent in a question to people. UTF-16 units. */
const TASK_CHARS = 200;

/** What decides about the tools of a run. A sub-agent asks in the chat of its root. */
export function accessOf(
  row: RunRow,
  { taint, verdicts }: Pick<Told, 'taint' | 'verdicts'>,
  { policy, mayApprove, journal }: Pick<RunnerOptions, 'policy' | 'mayApprove' | 'journal'>,
): ToolAccess {
  const { authority } = row;
  const granted: ToolAccess['granted'] = (wanted) => journal.waits.granted(wanted);
  const asker = askerOf(row) ?? othersIn(row);
  const access = { policy, authority, taint, granted, verdicts, ...(asker === undefined ? {} : { asker }) };
  const home = homeOf(row);
  // In a group others could press the button, and a run that answers elsewhere must not ask there.
  const isTheirs = home !== undefined && home.isGroup !== true && chatKey(home) === authority.home;
  return isTheirs && mayApprove(channelOf(row)) ? { ...access, asks: { ...home, isGroup: false } } : access;
}

/** People must know for which part of the work they are asked. */
function askerOf(row: RunRow): string | undefined {
  const child = childFactsOf(row);
  if (!child || row.message || row.profile !== 'subagent') return undefined;
  const task = oneLine(row.prompt.task ?? row.prompt.text, TASK_CHARS);
  return `The sub-agent “${nameInMark(child.label)}” asks, whose task is: “${nameInMark(task, { limit: TASK_CHARS })}”`;
}

/** A collected request runs for one person: who else wrote in it must be known to the one who is asked. */
function othersIn({ message, authority }: RunRow): string | undefined {
  if (!message) return undefined;
  const authors = new Set([message, ...(message.queued ?? [])].map(principalOf));
  authors.delete(authority.principal);
  if (authors.size === 0) return undefined;
  const named = [...authors].map((principal) => personShown(undefined, principal)).join(' or ');
  return `It may be the wish of ${named}, who wrote in the same request`;
}
