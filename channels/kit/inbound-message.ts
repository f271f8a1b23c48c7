import { messageKey } from '../../src/core/ids.ts';
import type { InboundMessage } from '../../src/core/message.ts';

/** The instance that a message came by. */
type Account = Pick<InboundMessage, 'channel' | 'account'>;

/** What every message tells; what it leaves out is as `inboundMessage` says. */
export type InboundFacts = Pick<InboundMessage, 'chatId' | 'platformId' | 'senderId' | 'timestamp'> &
  Partial<Omit<InboundMessage, 'id' | keyof Account>>;

/**
 * A message with its dedup key. Unless the facts say otherwise, it is a new message outside of groups,
 * without words and files, that does not name the bot, and the sender's id stands in for the name.
 */
export function inboundMessage({ channel, account }: Account, facts: InboundFacts): InboundMessage {
  return {
    channel,
    account,
    id: messageKey({ channel, account, platformId: facts.platformId }),
    kind: 'message',
    senderName: facts.senderId,
    text: '',
    media: [],
    isGroup: false,
    mentionsBot: false,
    ...facts,
  };
}

/**
 * Stands for what arrived and could not be read, so that it is counted and what follows is not held up.
 * `platformId` must be the same when it arrives again. `now` in ms.
 */
export function unreadableMessage(
  { platformId, ...by }: Account & Pick<InboundMessage, 'platformId'>,
  now: number,
): InboundMessage {
  const unknown = { chatId: 'unknown', senderId: 'unknown', refusal: 'unreadable' } as const;
  return inboundMessage(by, { ...unknown, platformId, timestamp: now });
}

/** What became of a message that was told before: the same facts about it, under a key of its own. */
export function changedMessage(
  target: InboundMessage,
  change: Pick<InboundMessage, 'kind' | 'platformId' | 'timestamp'> & Partial<InboundMessage>,
): InboundMessage {
  const { channel, account } = target;
  const id = messageKey({ channel, account, platformId: change.platformId });
  return { ...target, ...change, id, targetId: target.platformId };
}
