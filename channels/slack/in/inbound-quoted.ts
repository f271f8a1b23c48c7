/** Messages that others refer to: who wrote them, and what a quotation of them says. Pure. */
import type { QuotedMessage } from '../../../src/core/message.ts';
import { type JsonObject, str } from '../../kit/json.ts';
import { composed } from '../../kit/senders-words.ts';
import { isBot, wordsOfBot } from './bots.ts';
import { mediaOf, notesOf } from './inbound-content.ts';
import { authorId, type Identity, type InboundContext, teamOf } from './inbound-fields.ts';
import { plainText } from './inbound-text.ts';

/**
 * A message with its author, whose words and files the gateway shows only where that person may write to
 * the agent.
 */
export function quotedParent(message: JsonObject, platformId: string, context: InboundContext): QuotedMessage {
  const { text } = composed(plainText(str(message['text']) ?? ''), ...notesOf(message));
  const media = mediaOf(message);
  return {
    platformId,
    fromBot: isOwn(message, context.me),
    senderId: authorOf(message, context),
    ...(text !== '' && { text }),
    ...(media.length > 0 && { media }),
  };
}

/** What a message says that a person points to; alerts of other apps often stand in blocks alone. */
export function quotedWords(message: JsonObject): string {
  const said = isBot(message) ? wordsOfBot(message) : (str(message['text']) ?? '');
  return composed(plainText(said), ...notesOf(message)).text;
}

/**
 * The first message of a thread in the AI pane, which the platform writes: its words are the title, and a new
 * title is told as an edit (https://docs.slack.dev/reference/events/message/assistant_app_thread).
 */
export function isPaneRoot(message: JsonObject): boolean {
  return message['subtype'] === 'assistant_app_thread';
}

export function authorOf(message: JsonObject, context: InboundContext): string {
  return authorId(str(message['user']), teamOf(message), context) ?? str(message['bot_id']) ?? 'unknown';
}

export function isOwn(message: JsonObject, me: Identity): boolean {
  return message['user'] === me.userId || (me.botId !== '' && message['bot_id'] === me.botId);
}
