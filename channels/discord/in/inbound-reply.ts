/**
 * The words and files of a message, and of what stands beside it: the message replied to, the one its thread
 * began with.
 */
import { type MediaRef, type QuotedMessage, UNKNOWN_SENDER } from '../../../src/core/message.ts';
import { writtenBy } from '../../../src/lib/marks.ts';
import { type JsonObject, list, num, obj, objects } from '../../kit/json.ts';
import { bracketNote, composed, type Ours, ours } from '../../kit/senders-words.ts';
import { snowflake } from '../wire/ids.ts';
import type { Post, Surroundings } from './called-in.ts';
import { isForward, mediaOf, noteOf, snapshotsOf } from './inbound-content.ts';
import { type Addressing, displayName, type NameOf, readText } from './inbound-text.ts';
import type { Place } from './places.ts';

export interface ReadingContext extends Surroundings {
  readonly to: Addressing;
  /** Where the event took place. */
  readonly place: Place;
  readonly nameOf?: NameOf;
}

/** Another person wrote it: a name in it addresses no one here (reliability.md A4). */
const NOBODY: Addressing = { account: '', roles: new Set(), everyone: false };

/** Files of a message and of what it forwards, which are asked for by the id of the message itself. */
export function filesOf(message: JsonObject, host: { readonly channelId: string; readonly id: string }): readonly MediaRef[] {
  return [message, ...forwarded(message)].flatMap((body) => mediaOf(body, host));
}

/** `said` is the message's own text, read before; everything else in it is read here. For `composed`. */
export function piecesOf(message: JsonObject, said: string, nameOf: NameOf | undefined): readonly (string | Ours)[] {
  const passedOn = forwarded(message).flatMap((body) => [
    ours('[forwarded, not written by the sender]'),
    readText(body, NOBODY, nameOf).text,
    ours(noteOf(body)),
  ]);
  return [said, ours(noteOf(message)), ...passedOn];
}

/** Files that the sender points at: those of the message replied to, unless the sender's own are meant. */
export function filesBeside(message: JsonObject, context: ReadingContext, withReply: boolean): readonly MediaRef[] {
  const replied = withReply ? repliedIn(message, context) : undefined;
  return replied ? filesIn(replied, context) : [];
}

/** The title of a post, in a line of ours. */
export function titleOf({ title }: Post): string {
  return bracketNote('forum post', title);
}

/**
 * What the message replies to, else what its thread began with. The title of a post that another person
 * opened stands above that, or alone: the gateway leaves it out unless that person may write to the agent.
 */
export function quotedOf(message: JsonObject, context: ReadingContext, senderId: string): QuotedMessage | undefined {
  const platformId = snowflake(obj(message['message_reference'])['message_id']);
  if (platformId !== undefined && isReply(message)) {
    return { platformId, ...quoteOf(repliedIn(message, context) ?? {}, context, senderId) };
  }
  const { starter = {}, post, place } = context;
  const titled = post?.ownerId === senderId ? undefined : post;
  const started = snowflake(starter['id']);
  if (started === undefined) {
    const origin = 'the title of the post, not written by the sender';
    return titled && { platformId: place.id, senderId: titled.ownerId, text: titleOf(titled), origin, fromBot: false };
  }
  const author = snowflake(obj(starter['author'])['id']) ?? UNKNOWN_SENDER;
  const media = filesIn(starter, context);
  const quote = quoteOf(starter, context, senderId);
  const title = titled?.ownerId === author ? { text: composed(titleOf(titled), quote.text).text } : {};
  // The sender did not point at it: whether its author may write to the agent decides.
  return { platformId: started, senderId: author, ...quote, ...title, ...(media.length > 0 && { media }) };
}

/**
 * Whether a message speaks to no one in particular: it names no one but the bot, and replies to the bot, the
 * sender, or nothing.
 */
export function namesNobodyElse(message: JsonObject, account: string): boolean {
  if (objects(message['mentions']).some(({ id }) => id !== account)) return false;
  if (list(message['mention_roles']).length > 0 || message['mention_everyone'] === true) return false;
  const replied = obj(obj(message['referenced_message'])['author'])['id'];
  return replied === undefined || replied === account || replied === obj(message['author'])['id'];
}

function quoteOf(quoted: JsonObject, context: ReadingContext, senderId: string): Omit<QuotedMessage, 'platformId'> {
  const author = obj(quoted['author']);
  const fromBot = author['id'] === context.to.account;
  const files = filesIn(quoted, context).map(({ kind }) => `[${kind}]`);
  const words = composed(...files, ...piecesOf(quoted, readText(quoted, NOBODY, context.nameOf).text, context.nameOf));
  const own = fromBot || author['id'] === senderId || words.text === '';
  const id = own ? undefined : snowflake(author['id']);
  return {
    ...(words.text !== '' && { text: words.text }),
    ...(!own && { origin: writtenBy(displayName(author)) }),
    ...(id !== undefined && { authorId: id }),
    fromBot,
  };
}

function filesIn(other: JsonObject, { place }: ReadingContext): readonly MediaRef[] {
  const id = snowflake(other['id']);
  return id === undefined ? [] : filesOf(other, { channelId: snowflake(other['channel_id']) ?? place.id, id });
}

function isReply(message: JsonObject): boolean {
  return num(message['type']) === 19 && !isForward(message);
}

/** Null when it was deleted, absent when the platform did not look. */
function repliedIn(message: JsonObject, { referenced }: ReadingContext): JsonObject | undefined {
  if (!isReply(message)) return undefined;
  const borne = message['referenced_message'];
  return borne === undefined ? referenced : obj(borne);
}

function forwarded(message: JsonObject): readonly JsonObject[] {
  return isForward(message) ? snapshotsOf(message) : [];
}
