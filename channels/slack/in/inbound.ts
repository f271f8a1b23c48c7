/** What the platform pushes, or its history holds -> `InboundMessage`. Pure; nothing throws for any JSON. */
import { shortHash } from '../../../src/core/ids.ts';
import type { InboundMessage, RefusalReason } from '../../../src/core/message.ts';
import { changedMessage, inboundMessage, unreadableMessage } from '../../kit/inbound-message.ts';
import { type JsonObject, list, obj, str } from '../../kit/json.ts';
import { composed, label } from '../../kit/senders-words.ts';
import { isBot, listedBot, wordsOfBot } from './bots.ts';
import { toCommand, toReaction } from './inbound-action.ts';
import { toChoice } from './inbound-choice.ts';
import { mediaOf, notesOf, pastedTables } from './inbound-content.ts';
import { answerContext, type Identity, type InboundContext, isGroup, TS, teamOfOurs, threadOf, toMs } from './inbound-fields.ts';
import { authorOf, isOwn, isPaneRoot } from './inbound-quoted.ts';
import { isShortcut, toShortcut } from './inbound-shortcut.ts';
import { plainText, stripMention } from './inbound-text.ts';
import type { SlackPayload } from './payload.ts';

/** Subtypes of messages that people write. Any other is a notice: a person joined, a topic was set. */
const WRITTEN = new Set(['', 'file_share', 'thread_broadcast', 'me_message', 'bot_message']);

/** Undefined for what nobody wrote: joins, unfurled links, our own edits, events of other kinds. */
export function toInbound(payload: SlackPayload, reading: InboundContext): InboundMessage | undefined {
  const { kind, body } = payload;
  const context = { ...reading, sisterTeam: payload.sisterTeam ?? reading.sisterTeam ?? teamOfOurs(payload, reading.me) };
  if (isShortcut(payload)) return toShortcut(payload, context);
  if (kind === 'action') return toChoice(body, context);
  if (kind === 'command') return toCommand(body, context);
  const event = obj(body['event']);
  const eventId = str(body['event_id']);
  const message = toEvent(event, context);
  return message && eventId !== undefined ? { ...message, secondaryId: `event:${eventId}` } : message;
}

function toEvent(event: JsonObject, context: InboundContext): InboundMessage | undefined {
  switch (event['type']) {
    case 'app_mention':
    case 'message':
      break;
    case 'reaction_added':
    case 'reaction_removed':
      return toReaction(event, context);
    default:
      return undefined;
  }
  switch (event['subtype']) {
    case 'message_changed':
      return toEdit(event, context);
    case 'message_deleted':
      return toDelete(event, context);
    default:
      // When a message is edited, a mention in it is told again, beside the change: both are the same edit,
      // or it is answered twice.
      return event['type'] === 'app_mention' && editedAt(event) !== undefined
        ? toEdit({ channel: event['channel'], message: event }, context)
        : toMessage(event, context);
  }
}

function toMessage(event: JsonObject, context: InboundContext): InboundMessage | undefined {
  const chatId = str(event['channel']);
  const ts = str(event['ts']);
  if (chatId === undefined || ts === undefined || !TS.test(ts)) return undefined;
  if (!WRITTEN.has(str(event['subtype']) ?? '') && !isBot(event)) return undefined;
  return shape(event, { chatId, ts }, context);
}

/** Also made from history and from mentions, where an edited message shows that it was. */
export function toEdit(event: JsonObject, context: InboundContext): InboundMessage | undefined {
  const chatId = str(event['channel']);
  const message = obj(event['message']);
  const previous = obj(event['previous_message']);
  const ts = str(message['ts']);
  if (chatId === undefined || ts === undefined || !TS.test(ts) || isBot(message) || isPaneRoot(message)) return undefined;
  // The parent of a thread leaves a stone behind when it is deleted.
  if (message['subtype'] === 'tombstone') return deletion(previous, { chatId, ts, at: str(event['event_ts']) }, context);
  // A link that was unfurled, a reply that was counted: nobody changed anything.
  const tables = pastedTables(message);
  const isSame = message['text'] === previous['text'] && fileIds(message) === fileIds(previous);
  const changed = !isSame || tables !== pastedTables(previous);
  const edited = editedAt(message);
  if (!changed || edited === undefined) return undefined;
  // History tells when a message was edited last, with whole seconds; the hash keeps two edits in one second
  // apart.
  const edit = `${Math.floor(Number(edited))}:${shortHash(`${str(message['text']) ?? ''}${tables}`, 8)}`;
  const platformId = `${chatId}:${ts}:edit:${edit}`;
  const base = shape(message, { chatId, ts }, context);
  // What the bare name points at is fetched for new messages alone.
  const refusal = base.refusal ?? (base.text === '' && base.media.length === 0 ? 'empty' : undefined);
  return changedMessage(base, { kind: 'edit', platformId, timestamp: toMs(edited), ...(refusal && { refusal }) });
}

function toDelete(event: JsonObject, context: InboundContext): InboundMessage | undefined {
  const chatId = str(event['channel']);
  const ts = str(event['deleted_ts']);
  if (chatId === undefined || ts === undefined || !TS.test(ts)) return undefined;
  return deletion(obj(event['previous_message']), { chatId, ts, at: str(event['event_ts']) ?? str(event['ts']) }, context);
}

function deletion(
  previous: JsonObject,
  { chatId, ts, at }: { chatId: string; ts: string; at: string | undefined },
  context: InboundContext,
): InboundMessage | undefined {
  if (isBot(previous)) return undefined;
  return changedMessage(shape(previous, { chatId, ts }, context), {
    kind: 'delete',
    platformId: `${chatId}:${ts}:delete`,
    text: '',
    media: [],
    timestamp: toMs(at !== undefined && TS.test(at) ? at : ts),
  });
}

/** Stands for a payload that could not be read, so that it is counted and what follows is not held up. */
export function unreadable({ body }: SlackPayload, { channel, account, now }: InboundContext): InboundMessage {
  const id = str(body['event_id']) ?? str(body['trigger_id']) ?? shortHash(JSON.stringify(body) ?? '');
  return unreadableMessage({ channel, account, platformId: `payload:${id}` }, now);
}

/** A message as it stands; its edit and its deletion tell the same of it. */
function shape(
  message: JsonObject,
  { chatId, ts }: { readonly chatId: string; readonly ts: string },
  context: InboundContext,
): InboundMessage {
  const { me } = context;
  const bot = listedBot(message, context);
  const mention = stripMention(bot === undefined ? (str(message['text']) ?? '') : wordsOfBot(message), me.userId);
  const media = mediaOf(message);
  const content = composed(plainText(mention.text), ...notesOf(message));
  const user = str(message['user']);
  const senderId = bot ?? authorOf(message, context);
  const threadTs = str(message['thread_ts']);
  const inThread = threadTs !== undefined && TS.test(threadTs) && threadTs !== ts;
  const thread = threadOf(chatId, ts, threadTs, context);
  // The bare name under a thread points at what that began with (`parents.ts`).
  const isPointing = isGroup(chatId) && mention.found && inThread;
  const refusal =
    bot === undefined
      ? refusalOf(message, me, content.text === '' && media.length === 0 && !isPointing)
      : refusalOfBot(message, me, chatId, mention.found);
  const parentIsOurs = str(message['parent_user_id']) === me.userId;
  // What a machine writes in a thread of ours is no answer to us: it has to name us.
  const follows = inThread && context.followThreads && bot === undefined;
  const called = mention.found || (follows && context.joined(chatId, threadTs));
  const profile = obj(message['user_profile']);
  return inboundMessage(context, {
    chatId,
    platformId: `${chatId}:${ts}`,
    senderId,
    senderName: label(str(profile['display_name']) || str(profile['real_name']) || senderId),
    isGroup: isGroup(chatId),
    ...(thread !== undefined && { threadId: thread }),
    ...(thread === ts && { startsThread: true }),
    ...content,
    media,
    // A thread that a person began is where it stands, and no reply to them.
    ...(follows && parentIsOurs && { replyTo: { platformId: `${chatId}:${threadTs}`, fromBot: true } }),
    mentionsBot: isGroup(chatId) && called,
    ...(refusal && { refusal }),
    timestamp: toMs(ts),
    replyContext: answerContext(
      { ts, at: toMs(ts), chatId, text: content.text, ...(bot === undefined && user !== undefined && { user }) },
      context,
    ),
  });
}

/**
 * Whether the first message of a thread says that a user wrote in it: histories and the `root` of a broadcast
 * reply have `reply_users`, https://docs.slack.dev/reference/events/message/message_replied has `replies`.
 * Neither need be complete.
 */
export function hasReplyOf(message: JsonObject, userId: string): boolean {
  return list(message['reply_users']).includes(userId) || list(message['replies']).some((reply) => obj(reply)['user'] === userId);
}

/**
 * Of a bot on the list: in groups, and when it names us. Nothing is said to machines where no person reads
 * it.
 */
function refusalOfBot(message: JsonObject, me: Identity, chatId: string, isCall: boolean): RefusalReason | undefined {
  if (isOwn(message, me)) return 'own-message';
  if (!isGroup(chatId)) return 'bot-author';
  return isCall ? undefined : 'not-mentioned';
}

function refusalOf(message: JsonObject, me: Identity, empty: boolean): RefusalReason | undefined {
  if (isOwn(message, me)) return 'own-message';
  if (isBot(message) || str(message['user']) === undefined) return 'bot-author';
  return empty ? 'empty' : undefined;
}

function editedAt(message: JsonObject): string | undefined {
  const at = str(obj(message['edited'])['ts']);
  return at !== undefined && TS.test(at) ? at : undefined;
}

function fileIds(message: JsonObject): string {
  return list(message['files'])
    .map((file) => str(obj(file)['id']) ?? '')
    .join();
}
