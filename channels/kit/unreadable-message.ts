import { messageKey } from '../../src/core/ids.ts';
import type { InboundMessage } from '../../src/core/message.ts';

/**
 * Stands for what arrived and could not be read, so that it is counted and what follows is not held up. `platformId` must be the same
 * when it arrives again. `now` in ms.
 */
export function unreadableMessage(
  { channel, account, platformId }: Pick<InboundMessage, 'channel' | 'account' | 'platformId'>,
  now: number,
): InboundMessage {
  return {
    channel,
    account,
    chatId: 'unknown',
    platformId,
    id: messageKey({ channel, account, platformId }),
    kind: 'message',
    senderId: 'unknown',
    senderName: 'unknown',
    text: '',
    media: [],
    isGroup: false,
    mentionsBot: false,
    refusal: 'unreadable',
    timestamp: now,
  };
}
