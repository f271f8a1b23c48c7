import { principalOf } from '../core/ids.ts';
import type { BackgroundLine, InboundMessage } from '../core/message.ts';
import type { RunRow } from '../core/run.ts';

interface ReadableOptions {
  readonly mayWrite: (who: Pick<InboundMessage, 'channel' | 'account' | 'senderId'>) => Promise<boolean>;
  /** Whether a model has read the words of the run and answered. */
  readonly wasRead: (row: RunRow) => Promise<boolean>;
}

/**
 * The run without what other people said beside its message, or joined to it, who may not write to the agent
 * by now: it may have waited since they were blocked or revoked. What was joined stays once a model has read
 * it, because questions about the run name its authors. Lines that an earlier version stored name no author
 * and stay. Rejects when the pairings or the steps cannot be read.
 */
export async function withReadableWords(row: RunRow, { mayWrite, wasRead }: ReadableOptions): Promise<RunRow> {
  if (!row.message) return row;
  const { background = [], queued = [], ...message } = row.message;
  if (background.length === 0 && queued.length === 0) return row;
  const { channel, account } = message;
  const lines: BackgroundLine[] = [];
  for (const line of background) {
    const { senderId } = line;
    if (senderId === undefined || (await mayWrite({ channel, account, senderId }))) lines.push(line);
  }
  const joined: InboundMessage[] = [];
  for (const one of queued)
    if (principalOf(one) === row.authority.principal || (await mayWrite(one)) || (await wasRead(row))) joined.push(one);
  const left = { ...(lines.length > 0 && { background: lines }), ...(joined.length > 0 && { queued: joined }) };
  return { ...row, message: { ...message, ...left } };
}
