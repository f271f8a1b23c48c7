import { isElsewhere } from '../core/elsewhere.ts';
import { delayKey, isDelay, laneKey } from '../core/ids.ts';
import type { AnswerTarget, OutboundPart, SentFor } from '../core/message.ts';
import type { NewPart, OutboxRow } from '../core/outbox.ts';

const NOTICE = '#undelivered';
/** Long enough for a platform that just refused a part to take a line. */
const EXPIRES_MS = 3_600_000;

/** Parts of one answer share this. */
export function answerOf({ key, messageId, sentFor }: OutboundPart): string {
  const own = key.replace(/#[^#]*$/, '');
  // What is told elsewhere is another answer of the same run: each of them may be undelivered.
  return sentFor || isElsewhere(own) ? own : (messageId ?? own);
}

/**
 * The line that tells the chat a part of its answer is DEAD: a message of its own, at the place of that part
 * in the answer, because a platform may let a first part replace something ("is thinking"); the same key for
 * every part of one answer. Undefined for a line of ours itself, and for a part that was only to change what
 * is shown already. Of words that a person had written elsewhere, the chat of that person is told.
 */
export function undelivered(row: OutboxRow, now: number): NewPart | undefined {
  if (row.part.sentFor) return undeliveredFor(row, row.part.sentFor, now);
  const { file: _file, edits: _edits, editOnly, supersedes: _supersedes, choices: _choices, ...part } = row.part;
  if (editOnly || part.key.endsWith(NOTICE) || isDelay(part.key)) return undefined;
  const what = row.part.file ? `The file ${row.part.file.name}` : part.count > 1 ? 'A part of this answer' : 'An answer';
  const text = `${what} could not be delivered (GH1601). Ask again, or ask the operator.`;
  return {
    part: { ...part, key: `${answerOf(part)}${NOTICE}`, text },
    lane: row.lane,
    expiresAt: Math.max(row.expiresAt, now + EXPIRES_MS),
  };
}

function undeliveredFor({ part, expiresAt }: OutboxRow, { title, told }: SentFor, now: number): NewPart | undefined {
  if (!told) return undefined;
  const { messageId, mail } = part;
  const text = `⚠️ ${mail ? 'The mail' : 'The message'} to ${title} could not be delivered (GH1601). Ask the operator why.`;
  return {
    part: {
      ...told,
      key: `${answerOf(part)}${NOTICE}`,
      ...(messageId === undefined ? {} : { messageId }),
      ...{ ordinal: 0, count: 1, text },
    },
    lane: laneKey(told),
    expiresAt: Math.max(expiresAt, now + EXPIRES_MS),
  };
}

/**
 * The line that tells a chat its answer is held up. One per message, and of no use once the wait is over.
 * `waitMs` > 0.
 */
export function delayed(target: AnswerTarget, waitMs: number, now: number): NewPart {
  const { id, channel, account, chatId, threadId, isGroup, replyContext } = target;
  const seconds = Math.ceil(waitMs / 1_000);
  const time = seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
  const part: OutboundPart = {
    key: delayKey(id),
    messageId: id,
    ...{ channel, account, chatId },
    ...(threadId === undefined ? {} : { threadId }),
    ...(isGroup ? { isGroup } : {}),
    ...{ ordinal: 0, count: 1, text: `The AI model is busy. Your answer will come in about ${time}.` },
    ...(replyContext === undefined ? {} : { replyContext }),
  };
  return { part, lane: laneKey(target), expiresAt: now + waitMs };
}
