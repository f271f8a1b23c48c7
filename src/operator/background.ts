import type { BackgroundLine, InboundMessage } from '../core/message.ts';
import type { RunRow } from '../core/run.ts';

/**
 * The run without what people said beside its message who may not write to the agent by now: it may have
 * waited since they were blocked or revoked. Lines that an earlier version stored name no author and stay.
 * Rejects when the pairings cannot be read.
 */
export async function withReadableBackground(
  row: RunRow,
  mayWrite: (who: Pick<InboundMessage, 'channel' | 'account' | 'senderId'>) => Promise<boolean>,
): Promise<RunRow> {
  if (!row.message?.background) return row;
  const { background, ...message } = row.message;
  const { channel, account } = message;
  const left: BackgroundLine[] = [];
  for (const line of background) {
    const { senderId } = line;
    if (senderId === undefined || (await mayWrite({ channel, account, senderId }))) left.push(line);
  }
  return { ...row, message: { ...message, ...(left.length > 0 && { background: left }) } };
}
