import type { ChatSettings } from '../../core/chats.ts';
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
  /** That of the chat or thread, without a topic. */
  readonly lane: string;
  /** What was chosen for the chat. */
  readonly settings: ChatSettings;
}

export async function conversationOf(
  message: InboundMessage,
  { session, lane }: PlaceOfMessage,
  { chats }: Pick<PromptPorts, 'chats'>,
): Promise<Conversation> {
  const chat = await chats.of(chatKey(message));
  const { active = '', previous = '', settings = {} } = chat ?? {};
  const own = { message, lane, base: session, settings };
  if (message.threadId !== undefined) return { ...own, session, topic: '', previous: '', topics: [] };
  return { ...own, session: inTopic(session, active), topic: active, previous, topics: settings.topics ?? [] };
}

export const GROUP_REFUSAL = 'In a group only the owner of this assistant and its admins can do that. Nothing was changed.';
