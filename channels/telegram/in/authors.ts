/** Who wrote a message, by id for decisions and by name for display. */
import type { Message, MessageOrigin, User } from 'grammy/types';
import { label } from '../../kit/senders-words.ts';

export function authorOf(message: Message): { senderId: string; senderName: string } {
  // A channel or a group that speaks in its own name: its id is negative and thus never equals a user's.
  if (message.sender_chat) return { senderId: String(message.sender_chat.id), senderName: label(chatName(message.sender_chat)) };
  if (!message.from) return { senderId: String(message.chat.id), senderName: label(chatName(message.chat)) };
  // Never the username: it can be given up and taken by another person (reliability.md A3).
  return { senderId: String(message.from.id), senderName: personName(message.from) };
}

export function originName(origin: MessageOrigin): string {
  switch (origin.type) {
    case 'user':
      return personName(origin.sender_user);
    case 'hidden_user':
      return label(origin.sender_user_name);
    case 'chat':
      return label(chatName(origin.sender_chat));
    case 'channel':
      return label(chatName(origin.chat));
  }
}

export function personName(user: User): string {
  return label([user.first_name, user.last_name].filter((part) => part).join(' '));
}

export function chatName(chat: Message['chat']): string {
  return chat.title ?? chat.username ?? chat.first_name ?? String(chat.id);
}
