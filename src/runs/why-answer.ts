/**
 * What `/why` says in a chat: of one's own message, in words. Keys of the config and error details are the
 * owner's.
 */
import { chatKey, isLaneOf, laneKey, messageKey, principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import type { EventRecord, RunAbout } from '../core/record.ts';
import { whyOf } from './why.ts';

export interface WhyAnswerOptions {
  readonly record: Pick<EventRecord, 'about' | 'asked'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether the operator wrote it. */
  readonly isOwner: (message: InboundMessage) => boolean;
  /** Turns that one person may have at once. */
  readonly ofPerson: () => number;
}

const UNKNOWN = 'I know of no message of yours here. Reply to one with `/why` to ask about it.';
const NOT_YOURS = 'I can say that only to the person who wrote it.';

/** Rejects as reads of the journal do. */
export async function whyAnswer(message: InboundMessage, options: WhyAnswerOptions): Promise<string> {
  const { record, clock, isOwner, ofPerson } = options;
  const forOwner = isOwner(message);
  const key = await keyAsked(message, record);
  const about = key === undefined ? undefined : await record.about(key);
  if (!about) return UNKNOWN;
  // What was refused, and what was purged, has no author in the record. In a private chat there is only one.
  const isOwn = about.run ? about.run.principal === principalOf(message) : !message.isGroup && isOf(about, chatKey(message));
  if (!isOwn && !forOwner) return NOT_YOURS;
  const { verdict, told, configKey, gates } = whyOf(about, { now: clock.now(), ofPerson: ofPerson() });
  if (!forOwner) return told;
  const marks = { passed: '✓', waits: '…', failed: '✗' } as const;
  const lines = gates.map(({ gate, state, text, detail }) => `${marks[state]} ${gate}: ${text}${detail ? ` (${detail})` : ''}`);
  return [verdict, ...lines, ...(configKey ? [`The config decides it: \`${configKey}\``] : [])].join('\n');
}

/** What a reply names is the sender's word: by mail it may be any message. */
function isOf({ events }: RunAbout, chat: string): boolean {
  return events.some(({ event }) =>
    event.type === 'dropped' ? event.chat === chat : event.type === 'admitted' && isLaneOf(event.lane, chat),
  );
}

async function keyAsked(message: InboundMessage, record: Pick<EventRecord, 'asked'>): Promise<string | undefined> {
  const { channel, account, replyTo, threadId, startsThread } = message;
  if (replyTo && !replyTo.fromBot) return messageKey({ channel, account, platformId: replyTo.platformId });
  if (replyTo) return await record.asked({ answer: replyTo.platformId, chat: chatKey(message) });
  // Where each message of a chat opens a thread, the last one stands in another lane.
  const isForChat = threadId === undefined || startsThread === true;
  return await record.asked({
    principal: principalOf(message),
    ...(isForChat ? { chat: chatKey(message) } : { lane: laneKey(message) }),
  });
}
