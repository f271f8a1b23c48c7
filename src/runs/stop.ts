import { principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Admission } from '../core/run.ts';
import { STOPPED_MARK } from '../delivery/answer-place.ts';
import { type EndTexts, stoppedText } from './end-texts.ts';

interface StopOptions {
  readonly isOwner: (message: InboundMessage) => boolean;
  readonly answer: (message: InboundMessage, text: string) => readonly NewPart[];
}

/**
 * What an abort word ends, and what the chat is told. Where each message of a chat opens a thread, a stop
 * that does so is meant for what goes on in the others. In a group each person stops what they asked for
 * themselves, and the owner what any person did.
 */
export function stopOf(
  message: InboundMessage,
  texts: EndTexts,
  place: { readonly lane: string; readonly session: string },
  { isOwner, answer }: StopOptions,
): Admission {
  const isForChat = message.kind === 'message' && (message.threadId === undefined || message.startsThread === true);
  const isForOwn = message.isGroup && !isOwner(message);
  return {
    kind: 'answer',
    message,
    ...place,
    outcome: 'stop',
    parts: answer(message, isForOwn ? texts.idleOwn : texts.idle),
    cancels: {
      where: isForChat ? 'chat' : 'lane',
      ...(isForOwn ? { principal: principalOf(message) } : {}),
      parts: (ended) => answer(message, stoppedText(texts, ended, message.isGroup)),
      stoppedMark: STOPPED_MARK,
    },
  };
}
