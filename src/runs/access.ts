import { chatKey } from '../core/ids.ts';
import { channelOf, type RunRow, targetOf } from '../core/run.ts';
import type { ToolAccess } from '../core/turn.ts';
import type { RunnerOptions } from './runner-options.ts';
import type { Told } from './told.ts';

/** What decides about the tools of a run. */
export function accessOf(
  row: RunRow,
  { taint, verdicts }: Pick<Told, 'taint' | 'verdicts'>,
  { policy, mayApprove, journal }: Pick<RunnerOptions, 'policy' | 'mayApprove' | 'journal'>,
): ToolAccess {
  const { authority } = row;
  const granted: ToolAccess['granted'] = (wanted) => journal.waits.granted(wanted);
  const target = targetOf(row);
  // In a group others could press the button, and a run that answers elsewhere must not ask there.
  const isTheirs = target !== undefined && target.isGroup !== true && chatKey(target) === authority.home;
  if (!isTheirs || !mayApprove(channelOf(row))) return { policy, authority, taint, granted, verdicts };
  const { channel, account, chatId, threadId, replyContext } = target;
  const asks = {
    ...{ channel, account, chatId, isGroup: false },
    ...(threadId === undefined ? {} : { threadId }),
    ...(replyContext === undefined ? {} : { replyContext }),
  };
  return { policy, authority, taint, granted, verdicts, asks };
}
