import type { InboundMessage } from '../../src/core/message.ts';
import { inboundMessage } from '../kit/inbound-message.ts';
import { composed, ours } from '../kit/senders-words.ts';

/** Longest line taken as one message, in UTF-16 units; the rest is cut off with a note. */
export const MAX_LINE = 1_000_000;

/** A typed line as a message. A terminal never repeats a line: its run and number are the dedup key. */
export function lineToMessage(
  line: string,
  place: { channel: string; run: string; number: number; now: number },
): InboundMessage {
  const content = composed(
    line.slice(0, MAX_LINE).toWellFormed(),
    line.length > MAX_LINE ? ours(`[cut off after ${MAX_LINE} characters]`) : undefined,
  );
  const platformId = `${place.run}:${place.number}`;
  const by = { channel: place.channel, account: 'local' };
  return inboundMessage(by, { chatId: 'local', senderId: 'local', platformId, ...content, timestamp: place.now });
}
