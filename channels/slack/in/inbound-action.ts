/** Buttons, commands and reactions -> `InboundMessage`. Pure; nothing throws for any JSON. */
import type { InboundMessage, RefusalReason } from '../../../src/core/message.ts';
import { inboundMessage } from '../../kit/inbound-message.ts';
import { type JsonObject, list, obj, str } from '../../kit/json.ts';
import { label } from '../../kit/senders-words.ts';
import { emojiFromName } from '../wire/emoji.ts';
import { authorId, type InboundContext, isGroup, TS, threadOf, toMs } from './inbound-fields.ts';
import { plainText } from './inbound-text.ts';

/**
 * Our buttons, so that those of other apps' messages, which cannot reach us, and older ones are told apart.
 */
export const CHOICE_ACTION = 'gatehouse_choice_';
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

/** Pressing a button of ours: the person says what the button says. */
export function toChoice(body: JsonObject, context: InboundContext): InboundMessage | undefined {
  if (body['type'] !== 'block_actions') return undefined;
  const action = list(body['actions'])
    .map(obj)
    .find((entry) => str(entry['action_id'])?.startsWith(CHOICE_ACTION));
  const [user, message] = [obj(body['user']), obj(body['message'])];
  const chatId = str(obj(body['channel'])['id']) ?? str(obj(body['container'])['channel_id']);
  const ts = str(message['ts']) ?? str(obj(body['container'])['message_ts']);
  const senderId = authorId(str(user['id']), str(user['team_id']), context);
  const value = str(action?.['value']);
  const at = str(action?.['action_ts']);
  if (chatId === undefined || ts === undefined || senderId === undefined || value === undefined || at === undefined)
    return undefined;
  if (!TS.test(ts) || !TS.test(at)) return undefined;
  const thread = threadOf(chatId, ts, str(message['thread_ts']), context);
  return inboundMessage(context, {
    chatId,
    platformId: `${chatId}:${ts}:action:${senderId}:${at}`,
    ...(thread !== undefined && { threadId: thread }),
    senderId,
    senderName: label(str(user['name']) ?? str(user['username']) ?? senderId),
    isGroup: isGroup(chatId),
    text: value,
    mentionsBot: isGroup(chatId),
    replyTo: { platformId: `${chatId}:${ts}`, fromBot: true },
    timestamp: toMs(at),
    replyContext: { ts: at },
  });
}

export function toCommand(body: JsonObject, context: InboundContext): InboundMessage | undefined {
  const command = str(body['command']);
  const chatId = str(body['channel_id']);
  const senderId = authorId(str(body['user_id']), str(body['team_id']), context);
  const trigger = str(body['trigger_id']);
  if (!command?.startsWith('/') || chatId === undefined || senderId === undefined || trigger === undefined) return undefined;
  return inboundMessage(context, {
    chatId,
    platformId: `command:${trigger}`,
    senderId,
    senderName: label(str(body['user_name']) ?? senderId),
    isGroup: isGroup(chatId),
    // The platform passes the words as they were typed, with the same entities as in a message.
    text: `${command} ${plainText(str(body['text']) ?? '')}`.trim(),
    mentionsBot: isGroup(chatId),
    timestamp: context.now,
    replyContext: { ts: ((context.now - COMMAND_EARLIER_MS) / 1_000).toFixed(6) },
  });
}
