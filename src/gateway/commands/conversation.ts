import { chatKey, inTopic } from '../../core/ids.ts';
import type { InboundMessage } from '../../core/message.ts';
import type { PlaceOfMessage, PromptPorts } from './command.ts';

/** The conversation that a message belongs to, as it is when the message is received. */
export interface Conversation {
  readonly message: InboundMessage;
  /** That of the active topic. */
  readonly session: string;
  /** Without a topic. */
  readonly base: string;
  /** '' = the chat itself, or a thread. */
  readonly topic: string;
  readonly previous: string;
  /** Of the chat, oldest first, without ''. */
  readonly topics: readonly string[];
  /** Key of the newest list of topics that stands in the chat with buttons. */
  readonly picker?: string;
}

export async function conversationOf(
  message: InboundMessage,
  { session }: PlaceOfMessage,
  { chats }: Pick<PromptPorts, 'chats'>,
): Promise<Conversation> {
  const own = { message, session, base: session, topic: '', previous: '', topics: [] };
  if (message.threadId !== undefined) return own;
  const chat = await chats.of(chatKey(message));
  if (!chat) return own;
  const { active, previous, settings } = chat;
  return {
    ...{ message, session: inTopic(session, active), base: session, topic: active, previous },
    topics: settings.topics ?? [],
    ...(settings.picker === undefined ? {} : { picker: settings.picker }),
  };
}

export const GROUP_REFUSAL = 'In a group only the owner of this assistant and its admins can do that. Nothing was changed.';
