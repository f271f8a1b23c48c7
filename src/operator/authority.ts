/** Who a message speaks for, and what it brings in: written with the run that it begins (runs.md M4). */
import { type Authority, type Mode, PRIVATE, type Role, UNTRUSTED } from '../core/authority.ts';
import { readChoice } from '../core/choices.ts';
import { chatKey, principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Outbox } from '../core/outbox.ts';
import type { PairingStore } from '../core/pairing.ts';
import { choicesOffered, isRelayed } from '../core/relayed.ts';
import type { TaskRows } from '../core/task.ts';
import type { Owner } from './owner.ts';

export interface StandingOptions {
  readonly owner: Pick<Owner, 'isOwnersId'>;
  readonly pairing: Pick<PairingStore, 'decided'>;
  /** Whether the channel is the terminal of the owner. */
  readonly isLocal: (channel: string) => boolean;
  readonly allowedSenders: (channel: string) => readonly string[];
  /** What the config gives a person of this role. */
  readonly mode: (role: Role, principal: string) => Mode;
  /** Whether a stranger can write there under the id of another person, as by SMS. */
  readonly isSpoofable: (channel: string) => boolean;
  /** As `Outbox.relayed`. Absent = nothing was written on the wish of others. */
  readonly relayed?: Outbox['relayed'];
  /** As `TaskRows.taintTold`. Absent = nothing was sent. */
  readonly taintTold?: TaskRows['taintTold'];
  /** Whether what is written there is mail. */
  readonly isMail: (channel: string) => boolean;
}

export interface Standing {
  readonly authority: Authority;
  readonly taint: number;
}

/**
 * Marks of adapters that bring no words of others. All other marks may: what is forwarded or shared, a place,
 * a contact or a sticker has names that its sender did not choose.
 */
const OWN_MARK = /^\[(?:Subject: .*|quoted text left out|mail shortened: .*|cut off after \d+ characters)\]$/;

/**
 * Of a message that was let in. Roles are raised by the config alone; rejects when the pairings cannot be
 * read.
 */
export async function standingOf(message: InboundMessage, options: StandingOptions): Promise<Standing> {
  const role = await roleOf(message, options);
  const principal = principalOf(message);
  const authority: Authority = {
    principal,
    role,
    mode: options.mode(role, principal),
    policies: [],
    home: chatKey(message),
  };
  const chosen = (await isOfRelayed(message, options)) ? UNTRUSTED : 0;
  return { authority, taint: taintOf(message, role, options) | chosen | (await taintQuoted(message, options)) };
}

/**
 * A reply to a message of the agent brings what its run had read: the result of a task is in the history of
 * no chat, and an answer of before `/reset`, or of another topic or thread, is not in that of this one.
 */
async function taintQuoted({ replyTo, ...message }: InboundMessage, { taintTold }: StandingOptions): Promise<number> {
  return replyTo?.fromBot && taintTold ? await taintTold(chatKey(message), replyTo.platformId) : 0;
}

type RoleOptions = Pick<StandingOptions, 'owner' | 'pairing' | 'isLocal' | 'allowedSenders' | 'isSpoofable'>;

/** Of a person who is let in. Rejects when the pairings cannot be read. */
export async function roleOf(
  person: Pick<InboundMessage, 'channel' | 'account' | 'senderId'>,
  options: RoleOptions,
): Promise<Role> {
  const { channel, account, senderId } = person;
  if (options.isLocal(channel)) return 'owner';
  if (options.isSpoofable(channel)) return 'guest';
  if (options.owner.isOwnersId(person)) return 'owner';
  // The mark that lets all people in is no person's id.
  if (senderId !== '*' && options.allowedSenders(channel).includes(senderId)) return 'member';
  return (await options.pairing.decided({ channel, account, senderId })) === 'approved' ? 'member' : 'guest';
}

function taintOf(message: InboundMessage, role: Role, { isMail }: StandingOptions): number {
  const { media, replyTo, background, channel } = message;
  // Also the name of who wrote it is chosen by that person.
  const isQuoted = replyTo?.text !== undefined || replyTo?.origin !== undefined;
  const isOwn = replyTo?.fromBot === true && replyTo.isRepeated !== true && !isRelayed(replyTo.text ?? '');
  const isQuoting = isQuoted && !isOwn;
  const isOthers = role === 'guest' || isQuoting || (background?.length ?? 0) > 0 || bringsOthers(message);
  const isPrivate = media.length > 0 || isMail(channel);
  return (isOthers || media.length > 0 ? UNTRUSTED : 0) | (isPrivate ? PRIVATE : 0);
}

/** Longest text that may be a choice. UTF-16 units. */
const CHOICE_CHARS = 100;

/**
 * Whether it answers words of others that the agent passed on, where it does not repeat them: what a button
 * says was chosen by who had it sent, and so was what a number stands for.
 */
async function isOfRelayed(message: InboundMessage, { relayed }: StandingOptions): Promise<boolean> {
  const { kind, text, replyTo } = message;
  const isBare = replyTo === undefined || (replyTo.fromBot && replyTo.text === undefined);
  if (!relayed || kind !== 'message' || !isBare) return false;
  const mayChoose = text.length <= CHOICE_CHARS && !text.includes('\n');
  if (!replyTo && !mayChoose) return false;
  const parts = await relayed(chatKey(message));
  return parts.some(({ part, platformId }) => {
    if (replyTo && platformId === replyTo.platformId) return true;
    return mayChoose && readChoice(text, choicesOffered(part)) !== undefined;
  });
}

function bringsOthers({ text, marks = [] }: InboundMessage): boolean {
  return marks.flatMap(([from, to]) => text.slice(from, to).split('\n')).some((line) => !OWN_MARK.test(line));
}
