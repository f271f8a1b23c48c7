/** Slash commands and pressed buttons: INTERACTION_CREATE -> `InboundMessage`. */
import type { InboundMessage } from '../../../src/core/message.ts';
import { type JsonObject, num, obj, objects, str } from '../../kit/json.ts';
import { requireId, snowflake, timeOf } from '../wire/ids.ts';
import { type InboundContext, nobody } from './inbound.ts';
import { displayName } from './inbound-text.ts';

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-type */
const APPLICATION_COMMAND = 2;
const MESSAGE_COMPONENT = 3;

/** Callback types: "the bot is thinking" until the answer replaces it, and an acknowledgement that shows nothing. */
export const DEFERRED_MESSAGE = 5;
export const DEFERRED_UPDATE = 6;

/** The platform takes answers through the interaction for 15 minutes; the last one is left for clocks that differ. */
export const INTERACTION_MS = 14 * 60_000;

export interface Interaction {
  readonly id: string;
  /** Lets whoever has it write in the bot's name where the command was given, for a quarter of an hour. */
  readonly token: string;
  /** Whose command it is; equals the bot's id for all but the oldest bots. */
  readonly application?: string;
  readonly acknowledge: typeof DEFERRED_MESSAGE | typeof DEFERRED_UPDATE;
  readonly message: InboundMessage;
}

/** What stands in front of a choice's value: buttons that other programs gave the same bot mean nothing to us. */
const CHOICE = /^gh\d{1,2}:/;

/** The id of the button for a choice: the number keeps two of the same value apart, as the platform demands. */
export function buttonId(index: number, value: string): string {
  return `gh${index}:${value}`;
}

/** Undefined for what is neither a command nor a button of ours. Throws on one that breaks the platform's own schema. */
export function toInteraction(event: JsonObject, context: InboundContext): Interaction | undefined {
  const type = num(event['type']);
  const data = obj(event['data']);
  const text =
    type === APPLICATION_COMMAND ? commandText(data) : type === MESSAGE_COMPONENT ? choiceOf(event, data, context) : undefined;
  const token = str(event['token']);
  if (text === undefined || token === undefined || !/^[\w.~-]{1,512}$/.test(token)) return undefined;
  const id = requireId(event['id'], 'interaction id');
  const member = obj(event['member']);
  const user = event['member'] === undefined ? obj(event['user']) : obj(member['user']);
  const senderId = requireId(user['id'], 'user id');
  const acknowledge = type === APPLICATION_COMMAND ? DEFERRED_MESSAGE : DEFERRED_UPDATE;
  const pressed = snowflake(obj(event['message'])['id']);
  const application = snowflake(event['application_id']);
  const replyContext =
    acknowledge === DEFERRED_MESSAGE && application !== undefined
      ? { replyContext: { interaction: { application, token, until: timeOf(id) + INTERACTION_MS } } }
      : pressed !== undefined && context.place.guildId !== undefined && { replyContext: { messageId: pressed } };
  const message: InboundMessage = {
    ...nobody(context, id, timeOf(id)),
    senderId,
    senderName: displayName(user, member),
    text,
    // Both are given to one bot and to no other.
    mentionsBot: true,
    ...(pressed !== undefined && { replyTo: { platformId: pressed, fromBot: true, ...quoted(event) } }),
    ...(user['bot'] === true && { refusal: 'bot-author' as const }),
    ...replyContext,
  };
  return { id, token, acknowledge, message, ...(application !== undefined && { application }) };
}

/** `/name` and what was filled in, in order; a subcommand is a word of it. */
function commandText(data: JsonObject): string | undefined {
  const name = str(data['name']);
  // Commands of the menus of a user or a message carry no text.
  if (name === undefined || (num(data['type']) ?? 1) !== 1) return undefined;
  return [`/${name}`, ...words(data['options'], 0)].join(' ');
}

function words(options: unknown, depth: number): readonly string[] {
  // The platform nests twice: group, subcommand.
  if (depth > 2) return [];
  return objects(options).flatMap((option) => {
    const value = option['value'];
    const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return scalar ? [String(value)] : [str(option['name']) ?? '', ...words(option['options'], depth + 1)];
  });
}

function quoted(event: JsonObject): { readonly text?: string } {
  const text = str(obj(event['message'])['content']);
  return text ? { text } : {};
}

function choiceOf(event: JsonObject, data: JsonObject, context: InboundContext): string | undefined {
  const id = str(data['custom_id']);
  const author = obj(obj(event['message'])['author'])['id'];
  if (id === undefined || !CHOICE.test(id) || author !== context.to.account) return undefined;
  return id.replace(CHOICE, '');
}
