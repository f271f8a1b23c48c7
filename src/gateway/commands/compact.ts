import { counted } from '../../lib/counted.ts';
import type { CommandSpec, RunCommand } from './command.ts';
import { GROUP_REFUSAL } from './conversation.ts';

export const compactCommand: CommandSpec = {
  name: 'compact',
  summary: 'make a summary of the conversation but for its newest messages',
  read: (words) => (words.length === 0 ? { kind: 'compact' } : undefined),
};

export const compact: RunCommand<{ kind: 'compact' }> = async (_command, row, { compaction, mayChange }, signal) => {
  if (!mayChange(row.message)) return GROUP_REFUSAL;
  const done = await compaction.now(row, signal);
  switch (done.kind) {
    case 'done':
      return `${counted(done.messages, 'message')} became a summary. The newest ${done.kept} stayed as they are.`;
    case 'nothing':
      return done.isHeld
        ? 'Nothing was changed: an earlier request still waits and goes on with these messages. Try again once it is over.'
        : 'There is nothing to compact: the conversation is short enough.';
    case 'spending':
      return 'Nothing was changed: a spending limit does not allow the summary now. Try again when it is free again.';
    case 'failed':
      return `Nothing was changed: the summary could not be made (${done.reason}). Try again later.`;
  }
};
