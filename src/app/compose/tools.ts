import { join } from 'node:path';
import { errorText } from '../../core/errors.ts';
import type { Address } from '../../core/message.ts';
import { channelOf, type RunRow, targetOf } from '../../core/run.ts';
import type { AnswerScope, RunScope, Tool } from '../../core/tool.ts';
import type { Delivery } from '../../delivery/deliver.ts';
import { isCommandWord } from '../../gateway/commands/index.ts';
import { copyAttachment } from '../../media/attachments.ts';
import { isVerdict } from '../../operator/approvals.ts';
import { RESULT_SHAPES } from '../../runs/profile.ts';
import { builtInTools } from '../../tools/index.ts';
import { keepingLarge } from '../../tools/large-results.ts';
import { type Base, redactOf } from './options.ts';
import { jobBook } from './schedule.ts';

/** The tools of one run, bound to its chat and to what its channel can do. */
export function composeTools(base: Base, delivery: Pick<Delivery, 'react'>): (row: RunRow, taint: number) => readonly Tool[] {
  const kits = [builtInTools, ...(base.options.extraTools ?? [])];
  const jobs = jobBook(base);
  const claimDisk: RunScope['claimDisk'] = (workspace, bytes, signal) => base.disk.claim(workspace, bytes, signal);
  return (row, taint) => {
    const spawner = base.programs.of(row.key);
    const scope = { ...scopeOf(row, base, delivery), jobs, taint, claimDisk, ...(spawner ? { spawner } : {}) };
    const large = { shape: RESULT_SHAPES[row.profile], claimDisk };
    return kits.flatMap((kit) => kit(scope)).map((tool) => keepingLarge(tool, large));
  };
}

function scopeOf(row: RunRow, base: Base, delivery: Pick<Delivery, 'react'>): RunScope {
  const { session, authority } = row;
  const target = targetOf(row);
  const scope = { session, authority, channel: channelOf(row) };
  return target ? { ...scope, origin: addressOf(target), answer: answerOf(row, base, delivery) } : scope;
}

/** Of a message, its chat alone. */
function addressOf({ channel, account, chatId, threadId, isGroup, replyContext }: Address): Address {
  return {
    ...{ channel, account, chatId },
    ...(threadId === undefined ? {} : { threadId }),
    ...(isGroup === undefined ? {} : { isGroup }),
    ...(replyContext === undefined ? {} : { replyContext }),
  };
}

function answerOf(row: RunRow, { options, channels }: Base, delivery: Pick<Delivery, 'react'>): AnswerScope {
  const { message } = row;
  // Asked at each call: the channel may have been replaced since.
  const channel = () => channels.channels.get(channelOf(row));
  return {
    async attach(file, signal) {
      signal.throwIfAborted();
      return await copyAttachment(join(options.dataDir, 'outgoing'), file, channel()?.limits.uploadBytes ?? 0);
    },
    isReserved: (words) => isCommandWord(words) || isVerdict(words),
    ...(message && channel()?.react
      ? {
          react: (emoji, signal) =>
            delivery.react(message, emoji, signal).catch((error: unknown) => {
              throw new Error(redactOf(options)(errorText(error)));
            }),
        }
      : {}),
  };
}
