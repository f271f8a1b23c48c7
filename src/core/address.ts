import type { Address } from './message.ts';

/** Of a message, its chat alone. */
export function addressOf({ channel, account, chatId, threadId, isGroup, replyContext }: Address): Address {
  return {
    ...{ channel, account, chatId },
    ...(threadId === undefined ? {} : { threadId }),
    ...(isGroup === undefined ? {} : { isGroup }),
    ...(replyContext === undefined ? {} : { replyContext }),
  };
}
