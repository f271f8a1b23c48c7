/** Whether words may go to a chat that is known, by the rules of now: for runs and for programs alike. */
import type { Chat } from '../core/chats.ts';
import { chatKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { isListed } from '../operator/may-write.ts';

/** What the config says of a channel, as far as words to its chats need it. */
export interface WrittenTo {
  readonly isLocal: boolean;
  readonly allowedGroups: readonly string[];
}

export interface LetInOptions {
  /** Undefined = no such channel is configured. */
  readonly rules: (channel: string) => WrittenTo | undefined;
  /** As `mayWrite`. */
  readonly mayWrite: (who: Pick<InboundMessage, 'channel' | 'account' | 'senderId'>) => Promise<boolean>;
}

/** Who reads there, as of `SentFor`. Undefined = they are not let in any more. Rejects as `mayWrite`. */
export async function readerOf({ address, principal }: Chat, { rules, mayWrite }: LetInOptions): Promise<string | undefined> {
  const { channel, account, chatId, isGroup } = address;
  const reader = isGroup ? chatKey(address) : principal;
  const ruled = rules(channel);
  if (!ruled || reader === undefined) return undefined;
  if (ruled.isLocal) return reader;
  if (isGroup) return isListed(ruled.allowedGroups, chatId) ? reader : undefined;
  return (await mayWrite({ channel, account, senderId: reader.slice(channel.length + 1) })) ? reader : undefined;
}
