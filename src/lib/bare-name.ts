/** A message that is nothing but the agent's name. In reply to another message it asks about that one. */
import type { InboundMessage, QuotedMessage } from '../core/message.ts';
import { mark } from './marks.ts';
import { visibleText } from './visible-text.ts';

/** What the agent reads in place of words. */
export const POINTING = mark('says only your name: the message replied to is meant');

interface Said extends Pick<InboundMessage, 'text' | 'media' | 'mentionsBot'> {
  readonly replyTo?: QuotedMessage | undefined;
}

/** Whether a message says nothing: no word, no file, and nothing that the bare name points at. */
export function isEmpty(message: Said): boolean {
  return isSilent(message) && !isPointing(message);
}

/** Whether it is the bare name in reply to a message of which the agent reads words, files or the origin. */
export function isPointing(message: Said): boolean {
  const { text, origin, media = [] } = message.replyTo ?? {};
  const isTold = text !== undefined || origin !== undefined || media.length > 0;
  return message.mentionsBot && isTold && isSilent(message);
}

function isSilent({ text, media }: Said): boolean {
  return media.length === 0 && visibleText(text).trim() === '';
}
