/** Updates that are no message of their own: a pressed button, a reaction. Pure. */
import type { Update, User } from 'grammy/types';
import { shortHash } from '../../../src/core/ids.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { isRelayed } from '../../../src/core/relayed.ts';
import { inboundMessage } from '../../kit/inbound-message.ts';
import { personName } from './authors.ts';
import { type InboundContext, threadOf } from './inbound.ts';
import { plainText } from './inbound-text.ts';

/** A press is what the choice says, from whoever pressed, about the message with the buttons. */
export function pressOf(update: Update, context: InboundContext): InboundMessage | undefined {
  const query = update.callback_query;
  const message = query?.message;
  // Presses under inline messages and games belong to chats the bot is not in.
  if (!query?.data || !message) return undefined;
  const target = `${message.chat.id}:${message.message_id}`;
  const threadId = threadOf(message);
  const above = message.date === 0 ? '' : plainText(message);
  return inboundMessage(context, {
    chatId: String(message.chat.id),
    platformId: `${target}:press:${query.id}`,
    ...(threadId === undefined ? {} : { threadId }),
    ...writer(query.from),
    text: query.data,
    // An answer is known to whom it was given; words of others make what they offer theirs too.
    replyTo: { platformId: target, ...(isRelayed(above) && { text: above }), fromBot: true },
    isGroup: message.chat.type !== 'private',
    mentionsBot: true,
    ...(query.from.is_bot ? { refusal: 'bot-author' as const } : {}),
    // A press has no time of its own; that of the message may be weeks old.
    timestamp: context.now ?? message.date * 1000,
    replyContext: { messageId: message.message_id },
  });
}

/** The platform sends these in private chats, and in groups where the bot is an administrator. */
export function reactionOf(update: Update, context: InboundContext): InboundMessage | undefined {
  const change = update.message_reaction;
  // Without `user` somebody reacted in the name of a chat: there is no person behind it.
  if (!change?.user) return undefined;
  const target = `${change.chat.id}:${change.message_id}`;
  const emoji = change.new_reaction.map((reaction) => (reaction.type === 'emoji' ? reaction.emoji : '⭐')).join('');
  return inboundMessage(context, {
    chatId: String(change.chat.id),
    platformId: `${target}:reaction:${change.user.id}:${change.date}:${shortHash(emoji, 8)}`,
    kind: 'reaction',
    targetId: target,
    ...writer(change.user),
    text: emoji,
    isGroup: change.chat.type !== 'private',
    timestamp: change.date * 1000,
  });
}

function writer(user: User): { senderId: string; senderName: string } {
  return { senderId: String(user.id), senderName: personName(user) };
}
