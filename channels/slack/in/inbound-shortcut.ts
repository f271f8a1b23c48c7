/**
 * Shortcuts -> `InboundMessage`
 * (https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload). They are answered
 * in the direct conversation with the person who chose them: a global one names no other, and the app need
 * not be where the message of the other kind stands. Pure; nothing throws for any JSON.
 */
import type { InboundMessage, QuotedMessage } from '../../../src/core/message.ts';
import { mark, writtenBy } from '../../../src/lib/marks.ts';
import { inboundMessage } from '../../kit/inbound-message.ts';
import { type JsonObject, obj, str } from '../../kit/json.ts';
import { composed, label, ours } from '../../kit/senders-words.ts';
import { mediaOf } from './inbound-content.ts';
import { authorId, type InboundContext, TS, toMs } from './inbound-fields.ts';
import { authorOf, isOwn, quotedWords } from './inbound-quoted.ts';
import type { SlackPayload } from './payload.ts';

export function isShortcut({ kind, body }: SlackPayload): boolean {
  return kind === 'action' && (body['type'] === 'shortcut' || body['type'] === 'message_action');
}

/** The person's id, as the Web API takes it. */
export function personOf(body: JsonObject): string | undefined {
  return str(obj(body['user'])['id']);
}

/** The author of the message that a shortcut is about; undefined where it is about none. */
export function authorOfTarget(body: JsonObject): string | undefined {
  return body['type'] === 'message_action' ? str(obj(body['message'])['user']) : undefined;
}

/**
 * A global shortcut asks for help; one of a message asks the agent about that message, which is quoted.
 * Refused as `unreadable` where there is no direct conversation to answer in.
 */
export function toShortcut({ body, shortcut = {} }: SlackPayload, context: InboundContext): InboundMessage | undefined {
  const user = obj(body['user']);
  // Of a shortcut of a message, `user` has no workspace.
  const team = str(user['team_id']) ?? str(obj(body['team'])['id']);
  const senderId = authorId(personOf(body), team, context);
  const [trigger, at] = [str(body['trigger_id']), str(body['action_ts'])];
  if (senderId === undefined || trigger === undefined || at === undefined || !TS.test(at)) return undefined;
  const about =
    body['type'] === 'message_action' ? aboutMessage(body, senderId, shortcut.authorName, context) : { text: '/help' };
  if (!about) return undefined;
  const { directId } = shortcut;
  return inboundMessage(context, {
    chatId: directId ?? 'unknown',
    platformId: `shortcut:${trigger}`,
    senderId,
    senderName: label(str(user['name']) ?? str(user['username']) ?? senderId),
    ...about,
    ...(directId === undefined && { refusal: 'unreadable' as const }),
    timestamp: toMs(at),
    replyContext: { ts: at },
  });
}

/**
 * The person points to the message, as if they had forwarded it: it is quoted with its author, who need not
 * be one who may write to the agent.
 */
function aboutMessage(
  body: JsonObject,
  senderId: string,
  authorName: string | undefined,
  context: InboundContext,
): Partial<InboundMessage> | undefined {
  const message = obj(body['message']);
  const [chatId, ts] = [str(obj(body['channel'])['id']), str(message['ts']) ?? str(body['message_ts'])];
  if (chatId === undefined || ts === undefined || !TS.test(ts)) return undefined;
  const words = quotedWords(message);
  const author = authorOf(message, context);
  const fromBot = isOwn(message, context.me);
  const replyTo: QuotedMessage = {
    platformId: `${chatId}:${ts}`,
    fromBot,
    ...(words !== '' && { text: words }),
    ...(!fromBot &&
      author !== senderId && {
        origin: writtenBy(authorName ?? str(message['username']) ?? author),
        authorId: author,
      }),
  };
  const name = label(str(body['callback_id']) ?? '');
  return {
    ...composed(ours(mark(`asked with the shortcut "${name}" about the message quoted here`))),
    media: mediaOf(message),
    replyTo,
  };
}
