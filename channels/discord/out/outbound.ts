/** `OutboundPart` -> one REST call. */
import { shortHash } from '../../../src/core/ids.ts';
import type { OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import { type JsonObject, num, obj, str } from '../../kit/json.ts';
import { uploadName } from '../../kit/upload-file.ts';
import { isToken } from '../in/interaction.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import { snowflake } from '../wire/ids.ts';
import { choiceRow } from './choices.ts';
import { toDiscordMarkdown } from './format.ts';
import { opusSeconds } from './voice-note.ts';

/** Code points of a message, caption or not; the apps show UTF-16 code units. */
const TEXT_LIMIT = PLATFORM_LIMITS.text.value;
/** Letters a nonce may have (API reference, create message): 96 bits of the part's key. */
const NONCE_LENGTH = 24;
/**
 * Shows no previews of links (attack A31;
 * https://discord.com/developers/docs/resources/message#message-object-message-flags).
 */
const SUPPRESS_EMBEDS = 1 << 2;
const IS_VOICE_MESSAGE = 1 << 13;
/** The picture beside the button that plays it; what it shows is not worth decoding a sound for. */
const EVEN_WAVEFORM = Buffer.alloc(64, 0x50).toString('base64');
/** Nobody is notified by what a model wrote, not even the author of the message it replies to. */
const NO_MENTIONS = { parse: [], replied_user: false } as const;
/**
 * From the end of the time for answers in place on: as long as a part whose sending ended in doubt can be
 * sent again (`idemWindowMs`), until the token of the command is no longer valid.
 */
const CLOSING_MS = 120_000;

export interface SendCall {
  readonly method: 'POST' | 'PATCH';
  readonly route: string;
  readonly body: JsonObject;
}

/** Where a part goes; undefined when an id is none of the platform's. */
export function placeOf(part: Pick<OutboundPart, 'chatId' | 'threadId'>): string | undefined {
  return snowflake(part.threadId ?? part.chatId);
}

/** A thread that the answer to a message opens. */
export interface ThreadOpened {
  /** Of the thread and of the message. */
  readonly id: string;
  /** The channel where the message stands. */
  readonly chat: string;
  readonly name: string;
}

/**
 * What the message that a part answers says of its thread (`replyContext`); undefined where it opens none.
 */
export function threadOpenedBy({ chatId, threadId, replyContext }: OutboundPart): ThreadOpened | undefined {
  const id = snowflake(threadId);
  const chat = snowflake(chatId);
  const name = str(replyContext?.['thread']);
  if (id === undefined || chat === undefined || name === undefined || replyContext?.['messageId'] !== id) return undefined;
  return { id, chat, name };
}

/** A command that shows "is thinking" until it is answered. */
export interface Awaiting {
  readonly application: string;
  readonly token: string;
  /**
   * Above 0: an earlier attempt of this part can have answered the command, and a repeat can come too late to
   * do the same. For so many ms only a process that made that attempt may repeat it.
   */
  readonly closingMs: number;
}

/**
 * The command that waits for this part, while the platform takes answers to it. `now` in epoch ms. What a
 * task or a job that the command began says goes to the same address, and never in place of the answer.
 */
export function awaitingOf(part: OutboundPart, now: number): Awaiting | undefined {
  const interaction = obj(part.replyContext?.['interaction']);
  const application = snowflake(interaction['application']);
  const token = str(interaction['token']);
  if (part.ordinal !== 0 || application === undefined || token === undefined || !isToken(token)) return undefined;
  // Rows of an earlier version do not say whose answer it is.
  const of = str(interaction['of']);
  if (of !== undefined && part.messageId !== undefined && part.messageId !== of) return undefined;
  const until = num(interaction['until']) ?? 0;
  if (now >= until + CLOSING_MS) return undefined;
  return { application, token, closingMs: now < until ? 0 : until + CLOSING_MS - now };
}

/** A new message, which the same key cannot make twice. `isReply`: it shows what it answers, where it may. */
export async function toCreate(
  part: OutboundPart,
  place: string,
  { plain, bytes, isReply = true }: { readonly plain: boolean; readonly bytes?: Buffer; readonly isReply?: boolean },
): Promise<SendCall> {
  const key = { nonce: nonceOf(part.key), enforce_nonce: true };
  const route = `/channels/${place}/messages`;
  const voice = plain ? undefined : voiceOf(part, bytes);
  if (voice) return { method: 'POST', route, body: { ...voice, ...key } };
  // A message can refer to those of its own place only.
  const reply = !isReply || threadOpenedBy(part)?.id === place ? {} : replyOf(part);
  return { method: 'POST', route, body: { ...(await contentOf(part, plain)), ...reply, ...key } };
}

/** The same text in place of "is thinking"; the same edit twice is one edit. */
export async function toAnswer(
  part: OutboundPart,
  { application, token }: Omit<Awaiting, 'closingMs'>,
  plain: boolean,
): Promise<SendCall> {
  return { method: 'PATCH', route: `/webhooks/${application}/${token}/messages/@original`, body: await contentOf(part, plain) };
}

/** Buttons that the new text does not offer any more go. */
export async function toEditCall(part: OutboundPart, place: string, messageId: string, plain: boolean): Promise<SendCall> {
  const body = { components: [], ...(await contentOf(part, plain)) };
  return { method: 'PATCH', route: `/channels/${place}/messages/${messageId}`, body };
}

export function nonceOf(key: string): string {
  return shortHash(key, NONCE_LENGTH);
}

/**
 * A message that is played in place has a sound and nothing else
 * (https://discord.com/developers/docs/resources/message#message-object-message-flags). Where the bot may not
 * send one, the second and plain try sends the sound as a file.
 */
function voiceOf(part: OutboundPart, bytes: Buffer | undefined): JsonObject | undefined {
  const { file, text, choices } = part;
  if (!file || !bytes || file.kind !== 'voice' || text !== '' || (choices && choices.length > 0)) return undefined;
  const seconds = opusSeconds(bytes);
  if (seconds === undefined) return undefined;
  const attachment = { id: 0, filename: 'voice-message.ogg', duration_secs: seconds, waveform: EVEN_WAVEFORM };
  return { attachments: [attachment], flags: IS_VOICE_MESSAGE };
}

async function contentOf(part: OutboundPart, plain: boolean): Promise<JsonObject> {
  const markup = plain ? '' : await toDiscordMarkdown(part.text);
  // Markup that grew past the limit, or text that renders to nothing, goes out as it was written (spec D4).
  const content = markup !== '' && [...markup].length <= TEXT_LIMIT ? markup : part.text;
  return {
    ...((content !== '' || !part.file) && { content }),
    allowed_mentions: NO_MENTIONS,
    flags: SUPPRESS_EMBEDS,
    ...(part.choices && part.choices.length > 0 && { components: [choiceRow(part.choices)] }),
    ...(part.file && { attachments: [{ id: 0, filename: shownName(part.file) }] }),
  };
}

/** In a server the first part shows what it answers; messages of private chats come without the id. */
function replyOf(part: OutboundPart): JsonObject {
  const messageId = snowflake(part.replyContext?.['messageId']);
  if (part.ordinal !== 0 || messageId === undefined) return {};
  // The message may have been deleted since; the answer is worth more than the reference.
  return { message_reference: { message_id: messageId, fail_if_not_exists: false } };
}

/** The name is shown, and its ending decides how the apps show the file. */
export function shownName({ name }: Pick<OutboundFile, 'name'>): string {
  return uploadName(name, /[\p{Cc}"\\/]+/gu);
}
