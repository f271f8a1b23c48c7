/**
 * What requests of others hold of a person: lines they were told, what they quote, what was merged with
 * theirs.
 */
import { ERASED, type Erasure } from '../core/erasure.ts';
import { chatKey, messageKey } from '../core/ids.ts';
import type { InboundMessage, Json, QuotedMessage } from '../core/message.ts';
import type { Prompt } from '../core/new-run.ts';
import type { PersonRef } from '../core/people.ts';
import { isRelayed } from '../core/relayed.ts';
import { nameWritten, writtenBy } from '../lib/marks.ts';

/** Who it is about: see `About` in erase-rows.ts. */
interface About {
  wrote(channel: string, senderId: string | undefined): boolean;
  names(text: string): boolean;
}

export interface TheirWords {
  readonly about: About;
  /** Keys of their runs. */
  readonly runs: ReadonlySet<string>;
  /** What the agent said in these runs, by `sentKey`. */
  readonly answers: ReadonlySet<string>;
  /** Origins of quotations that name them: for words whose author's id the platform did not tell. */
  readonly origins: ReadonlySet<string>;
}

/** A message of the agent, as a reply names it. `chat`: its `chatKey`. */
export function sentKey(chat: string, platformId: string): string {
  return `${chat}\n${platformId}`;
}

/** By display name, or by the id where a channel shows that. */
export function originsOf({ names, ids }: Pick<Erasure, 'names' | 'ids'>): ReadonlySet<string> {
  return new Set([...names, ...ids.map(({ senderId }) => senderId)].map(writtenBy));
}

/** The message that a row is about: of a task, the one that asked for it. */
export function messageIn(source: string, input: Json): InboundMessage | undefined {
  return source === 'chat' ? (input as unknown as InboundMessage) : (input as unknown as Prompt).from;
}

/** The row's input with this message in it. */
export function inputWith(source: string, input: Json, message: InboundMessage): string {
  return JSON.stringify(source === 'chat' ? message : { ...(input as unknown as Prompt), from: message });
}

/** Their words in a message of another, as far as these are marked as theirs. */
export function toldIn(message: InboundMessage, theirs: TheirWords): readonly string[] {
  const { channel, background = [], queued = [], replyTo } = message;
  const isTheirs = ({ senderId }: { readonly senderId?: string }): boolean => theirs.about.wrote(channel, senderId);
  const said = [...background, ...queued].filter(isTheirs).map(({ text }) => text);
  const quoted = isQuoted(message, theirs) && replyTo?.fromBot === false ? [replyTo.text ?? ''] : [];
  const within = queued.filter((one) => !isTheirs(one)).flatMap((one) => toldIn(one, theirs));
  return [...said, ...quoted, ...within].filter((text) => text !== '');
}

/** The names of these people in what the message tells and quotes of them. */
export function namesIn(message: InboundMessage, ids: readonly PersonRef[]): readonly string[] {
  const { channel, background = [], queued = [], replyTo } = message;
  const isTheirs = (senderId: string | undefined): boolean =>
    ids.some((one) => one.channel === channel && one.senderId === senderId);
  const told = background.flatMap(({ senderId, senderName }) => (isTheirs(senderId) ? senderName : []));
  const isQuoted = isTheirs(replyTo?.senderId) || isTheirs(replyTo?.authorId);
  const quoted = isQuoted ? nameWritten(replyTo?.origin ?? '') : undefined;
  return [...told, ...(quoted === undefined ? [] : [quoted]), ...queued.flatMap((one) => namesIn(one, ids))];
}

/** Whether the message is a reply to theirs, or to what the agent told them. */
export function isQuoted(message: InboundMessage, { about, runs, answers, origins }: TheirWords): boolean {
  const { channel, account, replyTo } = message;
  if (!replyTo) return false;
  const { fromBot, platformId, senderId, authorId, origin, text = '' } = replyTo;
  if (about.wrote(channel, senderId) || about.wrote(channel, authorId)) return true;
  if (fromBot) return (isRelayed(text) && about.names(text)) || answers.has(sentKey(chatKey(message), platformId));
  return runs.has(messageKey({ channel, account, platformId })) || (origin !== undefined && origins.has(origin));
}

/** Whether a quotation whose author is not known repeats what they said. */
function isUnsigned({ fromBot, senderId, authorId, text = '' }: QuotedMessage, isSaid: (text: string) => boolean): boolean {
  return !fromBot && senderId === undefined && authorId === undefined && text !== '' && isSaid(text);
}

/**
 * The message of another without their words. `isSaid`: whether they said this text in that chat. The same
 * message where nothing of it is theirs.
 */
export function withoutTold(
  message: InboundMessage,
  theirs: TheirWords,
  isSaid: (text: string, chat: string) => boolean,
): InboundMessage {
  const { channel, background = [], replyTo, queued = [] } = message;
  const isTheirs = ({ senderId }: { readonly senderId?: string }): boolean => theirs.about.wrote(channel, senderId);
  const isTold = background.some(isTheirs);
  const isQuoting =
    replyTo !== undefined && (isQuoted(message, theirs) || isUnsigned(replyTo, (text) => isSaid(text, chatKey(message))));
  const others = queued.filter((one) => !isTheirs(one)).map((one) => withoutTold(one, theirs, isSaid));
  const isQueued = others.length < queued.length || others.some((one, n) => one !== queued[n]);
  if (!isTold && !isQuoting && !isQueued) return message;
  return {
    ...message,
    ...(isTold ? { background: background.filter((one) => !isTheirs(one)) } : {}),
    ...(isQuoting ? { replyTo: { platformId: replyTo.platformId, fromBot: replyTo.fromBot, text: ERASED } } : {}),
    ...(isQueued ? { queued: others } : {}),
  };
}
