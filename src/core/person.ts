import type { InboundMessage } from './message.ts';

/** One person on one channel, whichever account of ours they write to; see `principalOf`. */
export type PersonRef = Pick<InboundMessage, 'channel' | 'senderId'>;
