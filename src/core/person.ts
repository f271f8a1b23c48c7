import type { InboundMessage } from './message.ts';

/** One person on one channel, whichever account of ours they write to; see `principalOf`. */
export type PersonRef = Pick<InboundMessage, 'channel' | 'senderId'>;

/** Where they write, of a message: a group can be kept out as a person can. */
export type GroupRef = Partial<Pick<InboundMessage, 'isGroup' | 'chatId'>>;
