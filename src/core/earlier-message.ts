import type { InboundMessage } from './message.ts';

/** A message that stood in a chat or thread before one that was received. */
export interface EarlierMessage extends Pick<InboundMessage, 'text' | 'marks'> {
  readonly platformId: string;
  /** As `InboundMessage.senderId`. */
  readonly senderId: string;
  readonly senderName: string;
  /** It is one of ours. */
  readonly fromBot: boolean;
  /**
   * Where messages are left out: between this one and the one before, or after this one, because the newest
   * could not be reached.
   */
  readonly gap?: 'before' | 'after';
}
