/** What a message replies to: a message of its chat or of another, a part of one, or a story. */
import type { Message } from 'grammy/types';
import type { MediaRef, QuotedMessage } from '../../../src/core/message.ts';
import { isRelayed } from '../../../src/core/relayed.ts';
import { writtenBy } from '../../../src/lib/marks.ts';
import { label } from '../../kit/senders-words.ts';
import { authorOf, chatName, originName } from './authors.ts';
import { mediaOf } from './inbound-content.ts';
import { noteOf } from './inbound-note.ts';
import { type BotIdentity, plainText } from './inbound-text.ts';

/** Files of the message replied to, in this chat or another: the ids of both can be fetched. */
export function repliedMedia(message: Message): readonly MediaRef[] {
  const replied = repliedIn(message);
  if (replied) return mediaOf(replied);
  return message.external_reply ? mediaOf(message.external_reply) : [];
}

/** The words with whose they are, unless the bot or the sender wrote them. */
export function quotedOf(message: Message, me: BotIdentity): QuotedMessage | undefined {
  const replied = repliedIn(message);
  if (replied) return quotedHere(message, replied, me);
  const { external_reply: external, reply_to_story: story } = message;
  if (external) {
    const platformId = `${external.chat?.id ?? 'external'}:${external.message_id ?? 'unknown'}`;
    const text = [...kindsOf(external), message.quote?.text, noteOf(external)].filter((line) => line).join('\n');
    return { platformId, text, origin: `quoted from ${originName(external.origin)} in another chat`, fromBot: false };
  }
  if (!story) return undefined;
  const origin = `a story of ${label(chatName(story.chat))}, which bots cannot see`;
  return { platformId: `${story.chat.id}:story:${story.id}`, origin, fromBot: false };
}

/** In a topic every first-level message "replies" to the service message that opened the topic. */
function repliedIn({ reply_to_message: replied }: Message): Message | undefined {
  return replied && !replied.forum_topic_created ? replied : undefined;
}

function quotedHere(message: Message, replied: Message, me: BotIdentity): QuotedMessage {
  const fromBot = replied.from?.id === me.id;
  const whole = [plainText(replied), noteOf(replied)].filter((line) => line).join('\n');
  // Words of others that the bot sent are told by their first line, which a part would lack.
  const part = fromBot && isRelayed(whole) ? undefined : chosenPart(message, replied);
  const said = part ?? (whole || message.quote?.text);
  const text = [...kindsOf(replied), said].filter((line) => line).join('\n');
  const own = fromBot || (!replied.sender_chat && replied.from !== undefined && replied.from.id === message.from?.id);
  const forwarded = replied.forward_origin && `forwarded from ${originName(replied.forward_origin)}, not by the sender`;
  const origin = forwarded ?? (own ? undefined : writtenBy(authorOf(replied).senderName));
  const platformId = `${replied.chat.id}:${replied.message_id}`;
  const author = own || !text ? undefined : authorOf(replied).senderId;
  return { platformId, ...(text && { text }), ...(text && origin && { origin }), ...(author && { authorId: author }), fromBot };
}

/**
 * What the sender pointed at; a quote that the server added is no choice (Bot API, TextQuote `is_manual`).
 */
function chosenPart({ quote, ...message }: Message, replied: Message): string | undefined {
  if (quote?.is_manual) return quote.text;
  const { reply_to_checklist_task_id: task, reply_to_poll_option_id: option } = message;
  if (task !== undefined) return replied.checklist?.tasks.find(({ id }) => id === task)?.text;
  if (option !== undefined) return replied.poll?.options.find(({ persistent_id }) => persistent_id === option)?.text;
  return undefined;
}

function kindsOf(content: Parameters<typeof mediaOf>[0]): readonly string[] {
  return mediaOf(content).map(({ kind }) => `[${kind}]`);
}
