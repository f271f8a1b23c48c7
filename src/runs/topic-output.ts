// a run, its session now, the parts of its answer -> the parts with what becomes of them in a topic that
//   is not active
import { heldKey, isArchived, laneKey, topicOf } from '../core/ids.ts';
import type { AnswerTarget, OutboundPart } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { RunRow } from '../core/run.ts';
import { plainName } from '../lib/plain-name.ts';

const FULL = '\n\n(More came in this topic while it was not active. Nothing after this message was kept for it.)';

/**
 * The topic that holds what a run says; undefined = nothing holds it: a thread, a job, work without a chat.
 */
export function topicHolding(row: RunRow): string | undefined {
  const place = row.message ?? (row.prompt.tells && row.replyTo);
  return place && place.threadId === undefined ? topicOf(row.session) : undefined;
}

/** See `TopicOutput`. */
export function ofTopic(parts: readonly NewPart[], row: RunRow, target: AnswerTarget): readonly NewPart[] {
  const name = topicHolding(row);
  const [first] = parts;
  if (name === undefined || !first) return parts;
  const { channel, account, chatId, isGroup, replyContext } = target;
  const part: OutboundPart = {
    ...{ key: heldKey(row.key), messageId: row.key, channel, account, chatId },
    ...(isGroup ? { isGroup } : {}),
    ...{ ordinal: 0, count: 1, text: noticeOf(name) },
    ...(replyContext === undefined ? {} : { replyContext }),
  };
  const topic = { name, notice: { part, lane: laneKey(target), expiresAt: first.expiresAt }, full: FULL };
  return parts.map((one) => ({ ...one, topic }));
}

function noticeOf(name: string): string {
  if (name === '') return '📥 An answer outside this topic is ready: /s shows it.';
  return `📥 An answer in topic “${plainName(name)}” is ready: /s ${plainName(name)} shows it.`;
}

/** Stands before the answer of a turn whose conversation was begun anew meanwhile. */
export function lateMark(session: string): string {
  if (!isArchived(session)) return '';
  const topic = topicOf(session);
  return `↩️ From before the fresh start${topic ? ` in topic “${plainName(topic)}”` : ''}:\n\n`;
}
