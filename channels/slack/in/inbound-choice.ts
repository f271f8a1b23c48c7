/**
 * Buttons, menus and pickers that a person used -> `InboundMessage`
 * (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). Pure; nothing throws for
 * any JSON.
 */
import type { InboundMessage, QuotedMessage } from '../../../src/core/message.ts';
import { isRelayed } from '../../../src/core/relayed.ts';
import { inboundMessage } from '../../kit/inbound-message.ts';
import { type JsonObject, list, num, obj, str } from '../../kit/json.ts';
import { label } from '../../kit/senders-words.ts';
import { authorId, type InboundContext, isGroup, TS, threadOf, toMs } from './inbound-fields.ts';
import { quotedParent, quotedWords } from './inbound-quoted.ts';

/**
 * Our buttons and menus, which say what was offered; those of other messages of the app are read as words.
 */
export const CHOICE_ACTION = 'gatehouse_choice_';

/** Options of one menu that are read. */
const MAX_CHOSEN = 100;

/**
 * The person says what they chose. What says nothing, an option that was taken back or a button that opens a
 * page, is refused as `empty`. Undefined where it stands in no message: in the home tab, in a form.
 */
export function toChoice(body: JsonObject, context: InboundContext): InboundMessage | undefined {
  if (body['type'] !== 'block_actions') return undefined;
  const actions = list(body['actions']).map(obj);
  const ours = actions.find((entry) => str(entry['action_id'])?.startsWith(CHOICE_ACTION));
  const action = ours ?? actions[0];
  const [user, message] = [obj(body['user']), obj(body['message'])];
  const chatId = str(obj(body['channel'])['id']) ?? str(obj(body['container'])['channel_id']);
  const ts = str(message['ts']) ?? str(obj(body['container'])['message_ts']);
  const senderId = authorId(str(user['id']), str(user['team_id']), context);
  const at = str(action?.['action_ts']);
  if (!action || chatId === undefined || ts === undefined || senderId === undefined || at === undefined) return undefined;
  if (!TS.test(ts) || !TS.test(at)) return undefined;
  const text = (ours ? offeredValue(ours) : wordsOf(action)) ?? '';
  const thread = threadOf(chatId, ts, str(message['thread_ts']), context);
  const platformId = `${chatId}:${ts}`;
  // An answer is known where it was given, unless a thread begins with it, whose conversation is new; words
  // of others make what they offer theirs too.
  const above = quotedWords(message);
  const isToldAgain = isRelayed(above) || (thread === ts && above !== '');
  const quoted: QuotedMessage =
    ours || !str(message['ts'])
      ? { platformId, fromBot: true, ...(isToldAgain && { text: above }) }
      : quotedParent(message, platformId, context);
  return inboundMessage(context, {
    chatId,
    platformId: `${platformId}:action:${senderId}:${at}`,
    ...(thread !== undefined && { threadId: thread }),
    senderId,
    senderName: label(str(user['name']) ?? str(user['username']) ?? senderId),
    isGroup: isGroup(chatId),
    text,
    mentionsBot: isGroup(chatId),
    replyTo: quoted,
    ...(text === '' && { refusal: 'empty' as const }),
    timestamp: toMs(at),
    replyContext: { ts: at },
  });
}

/** What one of our buttons stands for, or the option of our menu. */
function offeredValue(action: JsonObject): string | undefined {
  return action['type'] === 'static_select' ? str(obj(action['selected_option'])['value']) : str(action['value']);
}

/** What a person sees of their choice: of a date its day, of several options all that are chosen by then. */
function wordsOf(action: JsonObject): string | undefined {
  const { type } = action;
  if (type === 'button') return action['url'] === undefined ? textOf(action) : undefined;
  if (type === 'plain_text_input') return str(action['value']);
  const several = list(action['selected_options']).slice(0, MAX_CHOSEN);
  const people = [action['selected_user'], ...list(action['selected_users'])];
  const places = [action['selected_conversation'], action['selected_channel']];
  const words = [
    textOf(obj(action['selected_option'])),
    ...several.map((option) => textOf(obj(option))),
    str(action['selected_date']),
    str(action['selected_time']),
    timeOf(num(action['selected_date_time'])),
    ...people.slice(0, MAX_CHOSEN).map((id) => marked('@', id)),
    ...[...places, ...list(action['selected_conversations']), ...list(action['selected_channels'])]
      .slice(0, MAX_CHOSEN)
      .map((id) => marked('#', id)),
  ];
  return words.filter((word) => word !== undefined && word !== '').join(', ');
}

function textOf(option: JsonObject): string | undefined {
  return str(obj(option['text'])['text']);
}

function marked(sign: string, id: unknown): string | undefined {
  const name = str(id);
  return name === undefined ? undefined : `${sign}${name}`;
}

/** Of a picker of day and time: seconds since the epoch. */
function timeOf(seconds: number | undefined): string | undefined {
  const date = new Date((seconds ?? Number.NaN) * 1_000);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
