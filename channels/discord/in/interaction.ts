/** Slash commands, pressed buttons and menus: INTERACTION_CREATE -> `InboundMessage`. */
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { type JsonObject, list, num, obj, objects, str } from '../../kit/json.ts';
import { isPrivateCommand } from '../../kit/private-command.ts';
import { requireId, snowflake, timeOf } from '../wire/ids.ts';
import { type InboundContext, nobody } from './inbound.ts';
import { displayName } from './inbound-text.ts';

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-type */
const APPLICATION_COMMAND = 2;
const MESSAGE_COMPONENT = 3;
/** https://docs.discord.com/developers/components/reference#component-object-component-types */
const STRING_SELECT = 3;

/** Callback types: "the bot is thinking" until the answer replaces it, and a silent acknowledgement. */
export const DEFERRED_MESSAGE = 5;
export const DEFERRED_UPDATE = 6;

/**
 * How long an answer goes where the command was given. "Interaction tokens are valid for 15 minutes" (the
 * same page); the rest of that is for repeats of an attempt whose result was lost.
 */
export const INTERACTION_MS = 13 * 60_000;

/** What the platform is told of an interaction that is ours. */
export interface Acknowledgement {
  readonly id: string;
  /** Lets whoever has it write in the bot's name where the command was given, for a quarter of an hour. */
  readonly token: string;
  /** Whose command it is; equals the bot's id for all but the oldest bots. */
  readonly application?: string;
  readonly type: typeof DEFERRED_MESSAGE | typeof DEFERRED_UPDATE;
  /** "Is thinking" and the answer are shown to the sender alone. */
  readonly isPrivate: boolean;
}

export interface Interaction {
  readonly message: InboundMessage;
  /** Absent: it belongs to another program of the same bot, which acknowledges it. */
  readonly acknowledgement?: Acknowledgement;
}

/** Each choice's value begins like this: buttons of other programs of the same bot mean nothing to us. */
const CHOICE = /^gh\d{1,2}:/;
/** The id of a menu of choices. */
export const MENU_ID = 'gh:menu';

/** The id of a choice: the number keeps two of the same value apart, as the platform demands. */
export function choiceId(index: number, value: string): string {
  return `gh${index}:${value}`;
}

/**
 * `commands`: the gateway's own. What is neither a command nor a choice of ours is a message that is refused
 * as unreadable. Throws on one that breaks the platform's own schema.
 */
export function toInteraction(event: JsonObject, context: InboundContext, commands: readonly CommandEntry[]): Interaction {
  const id = requireId(event['id'], 'interaction id');
  const member = obj(event['member']);
  const user = event['member'] === undefined ? obj(event['user']) : obj(member['user']);
  const sender = { senderId: requireId(user['id'], 'user id'), senderName: displayName(user, member) };
  const message = { ...nobody(context, id, timeOf(id)), ...sender };
  const token = str(event['token']);
  const said = saidIn(event, context);
  if (!said || token === undefined || !isToken(token)) return { message: { ...message, refusal: 'unreadable' } };
  const { text, type } = said;
  const pressed = snowflake(obj(event['message'])['id']);
  const application = snowflake(event['application_id']);
  const isInServer = context.place.guildId !== undefined;
  const replyContext =
    type === DEFERRED_MESSAGE && application !== undefined
      ? { replyContext: { interaction: { application, token, until: timeOf(id) + INTERACTION_MS, of: message.id } } }
      : pressed !== undefined && isInServer && { replyContext: { messageId: pressed } };
  const isPrivate = isInServer && type === DEFERRED_MESSAGE && isPrivateCommand(text, commands);
  return {
    acknowledgement: { ...{ id, token, type, isPrivate }, ...(application !== undefined && { application }) },
    message: {
      ...message,
      text,
      // All of them are given to one bot and to no other.
      mentionsBot: true,
      ...(pressed !== undefined && { replyTo: { platformId: pressed, fromBot: true, ...quoted(event) } }),
      ...(user['bot'] === true && { refusal: 'bot-author' as const }),
      ...replyContext,
    },
  };
}

/** Whether it can be a token: it becomes a part of a route. */
export function isToken(token: string): boolean {
  return /^[\w.~-]{1,512}$/.test(token);
}

/** What a person says with it, and how it is acknowledged. Undefined: nothing that is ours. */
function saidIn(event: JsonObject, context: InboundContext): (Pick<Acknowledgement, 'type'> & { text: string }) | undefined {
  const kind = num(event['type']);
  const data = obj(event['data']);
  const isCommand = kind === APPLICATION_COMMAND;
  const text = isCommand ? commandText(data) : kind === MESSAGE_COMPONENT ? choiceOf(event, data, context) : undefined;
  return text === undefined ? undefined : { text, type: isCommand ? DEFERRED_MESSAGE : DEFERRED_UPDATE };
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

/** Of a button the id tells the choice, of a menu the value that was chosen. */
function choiceOf(event: JsonObject, data: JsonObject, context: InboundContext): string | undefined {
  const author = obj(obj(event['message'])['author'])['id'];
  const isMenu = num(data['component_type']) === STRING_SELECT && data['custom_id'] === MENU_ID;
  const id = str(isMenu ? list(data['values'])[0] : data['custom_id']);
  if (id === undefined || !CHOICE.test(id) || author !== context.to.account) return undefined;
  return id.replace(CHOICE, '');
}
