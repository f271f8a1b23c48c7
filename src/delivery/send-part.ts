/** One attempt to give a part to its platform: what came of it, as a settlement of its row. */
import type { Channel, SendResult } from '../core/channel.ts';
import { errorText } from '../core/errors.ts';
import { draftKey } from '../core/ids.ts';
import type { OutboxRow, Settlement } from '../core/outbox.ts';
import { withTimeLimit } from '../lib/with-time-limit.ts';
import { lookUp, marked, sendLimit, sendOnce } from './attempt.ts';
import { isTooOld } from './doubts.ts';
import { isProvisional } from './drafts.ts';
import type { EditTarget } from './edit-target.ts';
import type { LaneContext } from './lane-context.ts';
import {
  again,
  editOutcome,
  impossible,
  inDoubt,
  type Outcome,
  type OutcomeContext,
  outcomeOf,
  unknownOutcome,
} from './outcome.ts';

const FORGOTTEN = 'it may have arrived, and so long ago that the platform no longer knows its key';
/** Why a part is in doubt that an earlier process was sending. */
export const INTERRUPTED = 'the process ended while it was being sent';

/** The platform would take the edit, and show it to no one. */
const TOO_LATE: SendResult = { kind: 'refused', reason: 'invalid', detail: 'the message is too old to be changed' };
/** What a status becomes that no answer followed, where messages cannot be taken away. */
const NO_ANSWER = '(no answer)';
/** The answer waits for it. */
const WITHDRAW_MS = 10_000;

export interface Sent {
  readonly settlement: Settlement;
  /** Why the remaining parts of the same answer have nowhere to go. */
  readonly doomed?: string;
}

/** What a part comes to that cannot be given to the platform any more. Undefined = it can be. */
export function withoutCall(
  row: OutboxRow,
  channel: Channel,
  target: EditTarget | undefined,
  { clock, times }: LaneContext,
): Settlement | undefined {
  if (row.part.edits !== undefined) {
    return target === undefined || !channel.edit ? impossible(row, 'there is no message to edit', clock.now()) : undefined;
  }
  return isTooOld(channel, times.doubtMs(row)) ? { kind: 'unknown', reason: FORGOTTEN } : undefined;
}

/** Changes the message `target` to this part. Its row is SENDING on disk. */
export async function editPart(row: OutboxRow, channel: Channel, target: EditTarget, context: LaneContext): Promise<Sent> {
  const { platformId, createdAt } = target;
  const isEmpty = row.part.text === '';
  if (isEmpty && channel.withdraw) {
    await withdrawDraft(row, channel, platformId, context);
    return { settlement: { kind: 'expired' } };
  }
  const part = isEmpty ? { ...row.part, text: NO_ANSWER } : row.part;
  const isLate = context.clock.now() - createdAt > (channel.limits.editMs ?? Number.POSITIVE_INFINITY);
  const result = isLate ? TOO_LATE : await sendOnce(channel, part, { ...sendOptions(row, channel, context), target: platformId });
  const { settlement } = settled(editOutcome(result, row, contextOf(row, channel, context)));
  obey(row, result, settlement, context);
  if (settlement.kind === 'retry' && settlement.asNew) await withdrawDraft(row, channel, platformId, context);
  return { settlement };
}

/**
 * The answer becomes a message of its own, so its draft would stand above it for ever, half of it. Before the
 * settlement is written: a process that ends in between repeats the edit, which is refused again. Never
 * rejects.
 */
async function withdrawDraft({ part }: OutboxRow, channel: Channel, target: string, context: LaneContext): Promise<void> {
  const { clock, kill, emit } = context;
  const { chatId, threadId, replyContext, messageId, edits } = part;
  if (!channel.withdraw || messageId === undefined || edits !== draftKey(messageId)) return;
  const place = {
    chatId,
    ...(threadId !== undefined && { threadId }),
    ...(replyContext && { replyContext }),
    platformId: target,
  };
  const call = async (signal: AbortSignal): Promise<string> => {
    try {
      await channel.withdraw?.(place, signal);
      return '';
    } catch (error) {
      return errorText(error);
    }
  };
  const failure = (await withTimeLimit(call, WITHDRAW_MS, { clock, signal: kill })) ?? 'no answer';
  if (failure === '') return;
  emit({ type: 'failed', at: clock.now(), messageId, code: 'GH2003', detail: `half an answer stays in the chat: ${failure}` });
}

/**
 * Sends the part, and asks the platform where it cannot be known whether it arrived. Its row is SENDING on
 * disk.
 */
export async function sendPart(row: OutboxRow, channel: Channel, lane: LaneContext): Promise<Sent> {
  const mark = needsMark(row, channel, lane) ? marked(row.part, channel) : row.part;
  // Not markable: the earlier attempt may have arrived and this one could not say so.
  if (!mark) return { settlement: { kind: 'unknown', reason: 'sent once; a repeat could not be marked as one' } };
  const { clock, kill: signal } = lane;
  const startedAt = clock.now();
  const result = await sendOnce(channel, mark, sendOptions(row, channel, lane));
  const after = result.kind === 'unknown' ? inDoubt(row, startedAt) : row;
  const context = contextOf(row, channel, lane);
  let outcome = outcomeOf(result, after, context);
  if (outcome.kind === 'find') outcome = await lookUp(channel, after, outcome.detail, { context, clock, signal });
  const { settlement } = settled(outcome);
  obey(row, result, settlement, lane);
  // Half an answer that was refused is no letter to keep.
  const isKept = settlement.kind !== 'dead' || !isProvisional(row.part);
  return { settlement: isKept ? settlement : { kind: 'expired' }, ...doomOf(result, row) };
}

/**
 * A SENDING row of an earlier boot, for the classes that need not ask the platform. `row` as before that
 * attempt.
 */
export function interruptedOutcome(row: OutboxRow, context: OutcomeContext): Outcome & { kind: 'settle' } {
  const isRepeatable = context.sendClass === 'idem' || row.part.edits !== undefined;
  return settled(isRepeatable ? again(INTERRUPTED, row, context, 0) : unknownOutcome(INTERRUPTED, row, context));
}

export function outcomeContext(row: OutboxRow, channel: Channel, context: LaneContext): OutcomeContext {
  const { blind, maxAttempts, clock, random } = context;
  const markable = marked(row.part, channel) !== undefined;
  const now = clock.now();
  const policy = isProvisional(row.part) ? 'at_most_once' : blind;
  return { sendClass: channel.sendClass, blind: policy, maxAttempts, now, random, leftMs: row.expiresAt - now, markable };
}

function contextOf(row: OutboxRow, channel: Channel, context: LaneContext): OutcomeContext {
  return { ...outcomeContext(row, channel, context), leftMs: context.times.leftMs(row) };
}

function sendOptions({ plain }: OutboxRow, channel: Channel, { clock, sendTimeoutMs, kill }: LaneContext) {
  return { plain, timeoutMs: sendLimit(channel, sendTimeoutMs), clock, signal: kill };
}

function settled(outcome: Outcome): Outcome & { kind: 'settle' } {
  if (outcome.kind !== 'settle') throw new Error('an attempt ends in a settlement');
  return outcome;
}

/** The platform asked for silence, or would refuse whatever is sent with this login. */
function obey({ part }: OutboxRow, result: SendResult, settlement: Settlement, { budget, clock }: LaneContext): void {
  const refusedLogin = result.kind === 'refused' && result.reason === 'auth';
  const scope = result.kind === 'retry' ? result.scope : refusedLogin ? 'account' : 'part';
  if (scope === 'part') return;
  const stated = result.kind === 'retry' ? result.afterMs : undefined;
  const ms = settlement.kind === 'retry' ? settlement.notBefore - clock.now() : (stated ?? 0);
  budget.close(scope, part, ms);
}

/** At least once, and an earlier attempt may have arrived. */
function needsMark(row: OutboxRow, channel: Channel, { blind }: LaneContext): boolean {
  return channel.sendClass === 'blind' && blind === 'at_least_once' && row.doubtSince !== undefined;
}

/** A chat may take words and no files: one that is refused then says nothing of what comes behind it. */
function doomOf(result: SendResult, { part }: OutboxRow): Pick<Sent, 'doomed'> {
  const isClosed = result.kind === 'refused' && (result.reason === 'chat-gone' || (result.reason === 'blocked' && !part.file));
  if (!isClosed) return {};
  return { doomed: `${result.reason}: ${result.detail}` };
}
