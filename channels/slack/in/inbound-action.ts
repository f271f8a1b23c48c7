/** Commands and reactions -> `InboundMessage`. Pure; nothing throws for any JSON. */
import type { InboundMessage, RefusalReason } from '../../../src/core/message.ts';
import { inboundMessage } from '../../kit/inbound-message.ts';
import { type JsonObject, obj, str } from '../../kit/json.ts';
import { label } from '../../kit/senders-words.ts';
import { emojiFromName } from '../wire/emoji.ts';
import { answerContext, authorId, type InboundContext, isGroup, TS, toMs } from './inbound-fields.ts';
import { plainText } from './inbound-text.ts';
import { typedCommand } from './slash-commands.ts';

/**
 * A command has no time of its own. Its answer is looked for from here on: ours may be ahead of the
 * platform's by no more than this.
 */
const COMMAND_EARLIER_MS = 600_000;

export function toReaction(event: JsonObject, context: InboundContext): InboundMessage | undefined {
  const item = obj(event['item']);
  const chatId = str(item['channel']);
  const ts = str(item['ts']);
  const user = str(event['user']);
  const name = str(event['reaction']);
  const at = str(event['event_ts']);
  if (chatId === undefined || ts === undefined || user === undefined || name === undefined || at === undefined) return undefined;
  if (!TS.test(ts) || !TS.test(at)) return undefined;
  const added = event['type'] === 'reaction_added';
  const id = `${chatId}:${ts}`;
  const refusal: RefusalReason | undefined = user === context.me.userId ? 'own-message' : undefined;
  return inboundMessage(context, {
    chatId,
    platformId: `${id}:reaction:${user}:${name.slice(0, 100)}:${at}`,
    kind: 'reaction',
    targetId: id,
    senderId: user,
    isGroup: isGroup(chatId),
    text: added ? emojiFromName(name.slice(0, 100)) : '',
    ...(refusal && { refusal }),
    timestamp: toMs(at),
  });
}

export function toCommand(body: JsonObject, context: InboundContext): InboundMessage | undefined {
  const command = str(body['command']);
  const chatId = str(body['channel_id']);
  const user = str(body['user_id']);
  const senderId = authorId(user, str(body['team_id']), context);
  const trigger = str(body['trigger_id']);
  if (!command?.startsWith('/') || chatId === undefined || senderId === undefined || trigger === undefined) return undefined;
  // The platform passes the words as they were typed, with the same entities as in a message.
  const text = `${typedCommand(command, context.commands)} ${plainText(str(body['text']) ?? '')}`.trim();
  return inboundMessage(context, {
    chatId,
    platformId: `command:${trigger}`,
    senderId,
    senderName: label(str(body['user_name']) ?? senderId),
    isGroup: isGroup(chatId),
    text,
    mentionsBot: isGroup(chatId),
    timestamp: context.now,
    replyContext: answerContext(
      { ts: ((context.now - COMMAND_EARLIER_MS) / 1_000).toFixed(6), at: context.now, chatId, text, ...(user && { user }) },
      context,
    ),
  });
}
