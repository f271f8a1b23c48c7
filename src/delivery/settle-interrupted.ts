import type { OutboxRow } from '../core/outbox.ts';
import type { LaneContext } from './lane-context.ts';
import { interruptedOutcome, outcomeContext } from './send-part.ts';
import { settledEvent } from './settled-event.ts';

/**
 * Settles a part that an earlier boot was sending, where that needs no question to the platform. `false`
 * leaves the row to its lane, also when the journal cannot write now. Never rejects.
 */
export async function settleInterrupted(row: OutboxRow, context: LaneContext): Promise<boolean> {
  const channel = context.channels.get(row.part.channel);
  if (!channel || (channel.sendClass === 'find' && row.part.edits === undefined)) return false;
  const { journal, clock, emit } = context;
  const before = { ...row, attempts: row.attempts - 1 };
  const { settlement } = interruptedOutcome(before, outcomeContext(before, channel, context));
  try {
    await journal.settle(row.seq, settlement);
  } catch {
    return false; // the lane keeps trying, and reports it
  }
  emit(settledEvent(row.part, settlement, clock.now()));
  return true;
}
